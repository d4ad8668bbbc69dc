package explain

// ownSecrets contains the errors of `em-infra secrets`.
var ownSecrets = []row{
	{
		name: "secrets-last-key", speaker: program, source: "internal/inventory/secrets/recipients.go",
		pattern: saying(`(?P<key>age1\S+) is the last key of yours that opens`),
		meaning: "without {key} none of the age keys on this machine would open the file, so it could not be changed here again",
		do:      "add the public half of another key of yours with `em-infra secrets recipients add`, then remove this one",
		safe:    notTouched,
	},
	{
		name: "secrets-recipient", speaker: program, source: "internal/inventory/secrets/recipients.go",
		pattern: saying(`(?:is not a recipient of|is no public age key|is a recipient already)`),
		meaning: "the argument is not a public age key that can be added or removed",
		do:      "compare it with `em-infra secrets recipients list`; a public key begins with age1, and age-keygen -y prints it",
		safe:    notTouched,
	},
	{
		name: "secrets-rule", speaker: program, source: "internal/inventory/secrets/rule_recipients.go",
		pattern: saying(`the rule of (?P<rules>\S+) for (?P<file>\S+) has (?:keys of another kind than age|several groups of keys)`),
		meaning: "the project's rules of SOPS ask for keys of PGP or of a key service, or for parts of a key, and em-infra encrypts a new file for age keys alone",
		do:      "add a rule for this file alone, with the age recipients that may read it, before the one that matches now, then `em-infra secrets init`; or make the file with SOPS itself, for an age key of yours too",
		safe:    notTouched,
	},
	{
		name: "secrets-rules-file", speaker: program, source: "internal/inventory/secrets/rule.go, rule_recipients.go",
		pattern: saying(`(?P<rules>\S+) is not valid: (?:it needs a list creation_rules|its rule for \S+ cannot be read|the path_regex .* is no regular expression)`),
		meaning: "the project's rules of SOPS cannot be read, so it is not known which recipients the file of secrets is for",
		do:      "correct the file (https://getsops.io has its form), then run the command again",
		safe:    notTouched,
	},
	{
		name: "secrets-other-keys", speaker: program, source: "internal/inventory/secrets/recipients.go",
		pattern: saying(`has keys of another kind than age:|has several groups of keys: change`),
		meaning: "the file is also encrypted for PGP or for a key service of a cloud, which em-infra has no client for, so it cannot give them a new data key",
		do:      "use SOPS itself for that file",
		safe:    notTouched,
	},
	{
		name: "secrets-edit-invalid", speaker: program, source: "cmd/em-infra/secrets_edit.go",
		pattern: saying(`your text is in (?P<file>\S+), encrypted|an edit that was not valid is kept in (?P<kept>\S+):`),
		meaning: "what the editor left was no valid text of secrets; the file of the stack did not change, and the text is kept for your own age keys",
		do:      "correct it with `em-infra secrets edit --resume`, or delete the file with the ending .rejected to drop it",
		safe:    notTouched,
	},
	{
		name: "secrets-editor", speaker: program, source: "internal/editor/editor.go",
		pattern: saying(`the editor failed`),
		meaning: "the command in EDITOR did not start, or ended with an error, so what it left is dropped",
		do:      "set EDITOR to an editor that waits until you close the file (vi, nano, code --wait), and run it again",
		safe:    notTouched,
	},
	{
		name: "secrets-file-there", speaker: program, source: "internal/inventory/secrets/document.go",
		pattern: saying(`secrets\.sops\.yaml (?:exists|is not there):`),
		meaning: "there is one file of secrets for each stack: init makes the first, and the other commands need it",
		do:      "use `em-infra secrets edit` if it exists, and `em-infra secrets init` if it does not",
		safe:    notTouched,
	},
}
