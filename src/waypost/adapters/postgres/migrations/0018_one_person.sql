-- A phone number in Mexico, Argentina or Brazil has two forms: `phone_alias` is the same for both, so that a person has
-- one dossier. It is empty for all other numbers.
ALTER TABLE dossier ADD COLUMN phone_alias text;

UPDATE dossier SET phone_alias = CASE
    WHEN phone LIKE '+521__________' THEN '+52' || substr(phone, 5)
    WHEN phone LIKE '+549__________' THEN '+54' || substr(phone, 5)
    WHEN phone LIKE '+55__________' THEN substr(phone, 1, 5) || '9' || substr(phone, 6)
    ELSE phone
END
WHERE phone LIKE '+52__________' OR phone LIKE '+521__________'
    OR phone LIKE '+54__________' OR phone LIKE '+549__________'
    OR (phone LIKE '+55__________' AND substr(phone, 6, 1) >= '6')
    OR (phone LIKE '+55__9________' AND substr(phone, 7, 1) >= '6');

-- Of dossiers that were made twice, the older one has the alias.
UPDATE dossier SET phone_alias = NULL WHERE phone_alias IS NOT NULL AND id NOT IN (
    SELECT min(id) FROM dossier WHERE phone_alias IS NOT NULL GROUP BY org_id, phone_alias
);

CREATE UNIQUE INDEX dossier_by_alias ON dossier (org_id, phone_alias) WHERE phone_alias IS NOT NULL;
