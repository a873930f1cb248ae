-- Gives the site a role of its own on PostgreSQL that owns nothing, and that cannot change or delete what is append-only.
--
-- Run it as the role that owns the tables (it runs `manage.py migrate`), or as a superuser with SET ROLE to it, after the
-- first migrate and again after each upgrade; running it twice changes nothing:
--
--     psql "$OWNER_DATABASE_URL" --set ON_ERROR_STOP=1 --file docs/site_role.sql
--
-- Create the login itself once, as an administrator of the server: CREATE ROLE pharmacy_site LOGIN PASSWORD '…';

GRANT USAGE ON SCHEMA public TO pharmacy_site;
REVOKE CREATE ON SCHEMA public FROM pharmacy_site;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO pharmacy_site;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO pharmacy_site;

-- Append-only: read and add, nothing else. The triggers refuse the rest as well, for the owner too.
REVOKE ALL ON prescriptions_auditevent, prescriptions_refilltransition, inventory_stockmove FROM pharmacy_site;
GRANT SELECT, INSERT ON prescriptions_auditevent, prescriptions_refilltransition, inventory_stockmove TO pharmacy_site;

-- The head of the audit log is one row, which the site moves on and never makes or deletes.
REVOKE ALL ON prescriptions_audithead FROM pharmacy_site;
GRANT SELECT, UPDATE ON prescriptions_audithead TO pharmacy_site;

-- What was migrated is the owner's business.
REVOKE ALL ON django_migrations FROM pharmacy_site;
GRANT SELECT ON django_migrations TO pharmacy_site;
