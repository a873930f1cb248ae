"""Define the simulator's own tables: what a hospital's record and a dispensing cabinet would hold themselves."""

from django.db import models

from pharmacy_site.lib.fields import CleanLine


class SimulatedLab(models.Model):
    """The newest value of one laboratory test in the simulated health record."""

    mrn = CleanLine(max_length=8)
    code = CleanLine(max_length=30)
    value = models.DecimalField(max_digits=9, decimal_places=2)
    taken_on = models.DateField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["mrn", "code"], name="simulated_lab_once")]

    def __str__(self) -> str:
        return self.code


class SimulatedAllergy(models.Model):
    """An allergy that only the simulated health record knows: a class, or an ingredient by its key."""

    mrn = CleanLine(max_length=8)
    drug_class = CleanLine(max_length=60, blank=True)
    ingredient_key = CleanLine(max_length=120, blank=True)

    def __str__(self) -> str:
        return self.drug_class or self.ingredient_key


class SimulatedOrder(models.Model):
    """An order that the simulated cabinet has carried out, once per key."""

    key = models.CharField(max_length=40, unique=True)
    medication_id = models.BigIntegerField()
    units = models.PositiveIntegerField()
    state = models.CharField(max_length=10, default="accepted")
    at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.key


class SimulatedFault(models.Model):
    """How often a simulated system still misbehaves, and how; without a row it works."""

    target = models.CharField(max_length=10, unique=True)
    mode = models.CharField(max_length=20)
    count = models.PositiveIntegerField(default=1)

    def __str__(self) -> str:
        return f"{self.target}: {self.mode}"
