package explain

// credentials contains the errors of credentials and of their rotation.
var credentials = []row{
	{
		name: "certificate-outlives-ca", speaker: program, source: "operator/internal/machinesecrets/client.go",
		pattern: saying(`the certificate would end on \S+, after its CA \((?P<end>\S+)\)`),
		meaning: "a certificate is refused once the CA that signed it has ended, here on {end}",
		do:      "give a shorter time with --ttl",
		safe:    notTouched,
	},
	{
		name: "credentials-file-exists", speaker: program, source: "operator/issued_credentials.go",
		pattern: saying(`(?P<file>\S+) exists already: name another file, or delete it first`),
		meaning: "the file {file} would be overwritten, and may contain credentials that are in use",
		do:      "name another file with --out, or delete that one first",
		safe:    notTouched,
	},
	{
		name: "service-seals-no-files", speaker: program, source: "stacks/etcd_snapshots.go",
		pattern: saying(`the secrets of stack (?P<stack>\S+) are sealed by (?P<service>\S+), so it has no passphrase for snapshots`),
		meaning: "snapshots of etcd and recovery kits are sealed with the passphrase of the stack or for backups.recipients, and {service} seals the secrets of {stack} in place of a passphrase",
		do:      "add the public half of an age key to backups.recipients in cluster.yaml (age-keygen makes one), and keep its private half apart from this machine",
		safe:    notTouched,
	},
	{
		name: "service-not-asked", speaker: program, source: "operator/adopt_inventory.go",
		pattern: saying(`(?P<file>\S+) is sealed by (?P<service>\S+), which the engine asks for a state alone`),
		meaning: "the token of Proxmox VE in {file} is sealed by {service}, and only a run on a state asks that service",
		do:      "seal the file with a passphrase until the cluster is adopted, then choose that service as docs/security.md says",
		safe:    notTouched,
	},
	{
		name: "passphrase-cut-off", speaker: program, source: "operator/rotate_passphrase.go",
		pattern: saying(`a change of the passphrase was cut off`),
		meaning: "em-infra rotate passphrase was killed: the file of the stack and its state may be sealed with different passphrases",
		do:      "run `em-infra rotate passphrase` again with the same new passphrase; it goes on where it was",
		safe:    notTouched,
	},
	{
		name: "passphrase-neither", speaker: program, source: "operator/rotate_passphrase.go",
		pattern: saying(`neither the passphrase that is set nor the new one opens the state of stack (?P<stack>\S+):`),
		meaning: "the passphrase in PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE is not that of the state of {stack}",
		do:      "set the one that other commands work with; after a rotation that was cut off, give the same new passphrase again",
		safe:    notTouched,
	},
	{
		name: "rotation-begun", speaker: program, source: "operator/rotate_secrets.go",
		pattern: saying(`a rotation \((?P<what>\S+)\) was begun and has not ended`),
		meaning: "em-infra rotate {what} was killed or failed: some nodes may have the new secrets and some the old ones",
		do:      "run the same command again; it goes on from there with the same new secrets",
		safe:    notTouched,
	},
	{
		name: "backup-former-passphrase", speaker: program, source: "operator/state_restore.go",
		pattern: saying(`backup (?P<name>\S+) needs the passphrase from before it was changed`),
		meaning: "the backup {name} was made before the passphrase of the stack was changed, and the present one does not open it",
		do:      "restore a newer backup: the one that the change of the passphrase has made is the newest from then",
		safe:    notTouched,
	},
	{
		name: "token-no-administrator", speaker: program, source: "operator/rotate_token.go",
		pattern: saying(`the token may not manage tokens`),
		meaning: "a token of Proxmox VE may not make tokens for its own user, and the token at hand has no privilege for that",
		do:      "put a token with User.Modify on /access/groups and Permissions.Modify on / into EM_INFRA_PROXMOX_ADMIN_TOKEN, or replace the token by hand",
		safe:    notTouched,
	},
	{
		name: "token-in-use", speaker: program, source: "operator/rotate_token.go",
		pattern: saying(`the state still contains the former token (?P<token>\S+?):`),
		meaning: "resources in the state would still use the token {token} when they are deleted",
		do:      "run `em-infra up`, which writes the new token into the state, then `em-infra rotate proxmox-token` again",
		safe:    notTouched,
	},
	{
		name: "token-too-little", speaker: program, source: "internal/pve/tokens.go",
		pattern: saying(`the token (?P<token>\S+) has not (?P<privilege>\S+) on (?P<path>\S+), which the present token has`),
		meaning: "the new token {token} lacks {privilege} on {path}, so it was deleted again and the present token stays in use",
		do:      "give the administrator's token Permissions.Modify on /, so that it can copy all entries, then run the command again",
		safe:    notTouched,
	},
}
