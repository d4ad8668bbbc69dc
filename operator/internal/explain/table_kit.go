package explain

// kits contains the errors of recovery kits.
var kits = []row{
	{
		name: "kit-none", speaker: program, source: "operator/kit_open.go",
		pattern: saying(`stack (?P<stack>\S+) has no recovery kit in|there is no recovery kit \S+: name its file`),
		meaning: "there is no file with a recovery kit where one was looked for",
		do:      "name the file with --kit, or make one with `em-infra kit create`, which needs the state of the stack",
		safe:    notTouched,
	},
	{
		name: "kit-sealed", speaker: program, source: "operator/internal/recoverykit/open.go",
		pattern: saying(`the recovery kit (?P<name>\S+): it is sealed for others`),
		meaning: "the kit {name} was encrypted for other age keys, or with another passphrase than the one at hand",
		do:      "set SOPS_AGE_KEY_FILE to the file with the key of one of backups.recipients of that time, or PULUMI_CONFIG_PASSPHRASE_FILE to that with the passphrase of the stack",
		safe:    notTouched,
	},
	{
		name: "kit-damaged", speaker: program, source: "operator/internal/recoverykit/open.go",
		pattern: saying(`the recovery kit (?P<name>\S+): (?:\S+: )?it is (?:damaged or cut off|no file of age|no recovery kit|larger than)`),
		meaning: "the file of the kit {name} is not what was written: it was cut off or changed, or is another file",
		do:      "use another copy of it, or an older kit; the newest ones are in the folder kit of the backups",
		safe:    notTouched,
	},
	{
		name: "kit-other-files", speaker: program, source: "operator/kit_restore.go",
		pattern: saying(`the project has other files than the recovery kit`),
		meaning: "files of the project, such as the inventory, differ from those in the kit",
		do:      "add --existing keep if the project's are newer, as in a clone of your repository; add --existing replace if they are samples",
		safe:    notTouched,
	},
	{
		name: "kit-other-stack", speaker: program, source: "operator/kit_open.go",
		pattern: saying(`the recovery kit is of the stack (?P<stack>\S+), not of`),
		meaning: "the kit is that of another stack, {stack}",
		do:      "run the command with --stack {stack}",
		safe:    notTouched,
	},
	{
		name: "kit-unfit", speaker: program, source: "cmd/em-infra/kit.go",
		pattern: saying(`the cluster cannot be rebuilt from this recovery kit`),
		meaning: "a part of the kit is missing or damaged, or belongs to another cluster or to the time before its secrets were changed",
		do:      "see which line says FAIL, then make a new one with `em-infra kit create`",
		safe:    notTouched,
	},
	{
		name: "machine-secrets-incomplete", speaker: program, source: "operator/internal/machinesecrets/bundle.go",
		pattern: saying(`the machine secrets are not complete`),
		meaning: "a certificate or key of the cluster is missing in the state or in the kit",
		do:      "put a backup of the state back with `em-infra state restore`, or use another recovery kit",
		safe:    notTouched,
	},
}
