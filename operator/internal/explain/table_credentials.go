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
}
