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
		name: "backup-former-passphrase", speaker: program, source: "operator/state_restore.go",
		pattern: saying(`backup (?P<name>\S+) needs the passphrase from before it was changed`),
		meaning: "the backup {name} was made before the passphrase of the stack was changed, and the present one does not open it",
		do:      "restore a newer backup: the one that the change of the passphrase has made is the newest from then",
		safe:    notTouched,
	},
}
