package stacks

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"unicode"

	"filippo.io/age"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
	"github.com/em-infra/em-infra/internal/remedy"
)

// key is a secret that a stack needs, by its two names.
type key struct {
	// config is its name in the stack's configuration, where it wins over the file.
	config string
	// path leads to it in secrets.sops.yaml.
	path string
}

// variable returns the environment variable that wins over both, for runs that have the secret from elsewhere, as in CI.
func (k key) variable() string {
	name := []rune("EM_INFRA_")
	for _, letter := range k.config {
		switch {
		case unicode.IsUpper(letter):
			name = append(name, '_', letter)
		case unicode.IsLetter(letter) || unicode.IsDigit(letter):
			name = append(name, unicode.ToUpper(letter))
		default: // of a name in it
			name = append(name, '_')
		}
	}
	return string(name)
}

// The keys of addons.
var (
	truenasAPIKey = key{KeyTrueNASAPIKey, "truenas.apiKey"}
	gitIdentity   = key{"gitIdentity", "git.identity"}
	gitKnownHosts = key{"gitKnownHosts", "git.knownHosts"}
	gitUsername   = key{"gitUsername", "git.username"}
	gitPassword   = key{"gitPassword", "git.password"}
	dockerConfig  = key{"ociDockerConfigJson", "oci.dockerConfigJson"}

	backupAccessKeyID     = key{"etcdBackupAccessKeyId", "etcdBackup.accessKeyId"}
	backupSecretAccessKey = key{"etcdBackupSecretAccessKey", "etcdBackup.secretAccessKey"}
)

// keys reads secrets from the environment, from the stack's configuration, from secrets.sops.yaml and from files, and collects what is missing.
type keys struct {
	inv      *inventory.Inventory
	stack    string
	problems inventory.Problems

	// configured reads the stack's configuration by names without their namespace; empty for what is not there.
	configured func(name string) string
	// file are the secrets of secrets.sops.yaml, read when the first key is looked for there.
	file     func() (map[string]string, error)
	reported bool // whether the error was reported
}

func newKeys(ctx *pulumi.Context, inv *inventory.Inventory, options Options) *keys {
	return &keys{
		inv: inv, stack: ctx.Stack(), configured: configuredIn(ctx), file: fileReader(ctx.Context(), inv.Dir, options.secretsReader()),
	}
}

// configuredIn returns a function that reads the configuration of a program, by names without their namespace.
func configuredIn(ctx *pulumi.Context) func(name string) string {
	return func(name string) string {
		text, _ := ctx.GetConfig(Key(name)) // an empty value counts as none
		return text
	}
}

// fileReader returns a function that reads the secrets beside an inventory once.
func fileReader(ctx context.Context, folder string, read SecretsReader) func() (map[string]string, error) {
	return sync.OnceValues(func() (map[string]string, error) { return read(ctx, folder) })
}

// find returns the secret from the environment, the stack's configuration or the file, in this order; empty if it is in none of them.
func (k key) find(configured func(name string) string, file func() (map[string]string, error)) (string, error) {
	if text := os.Getenv(k.variable()); text != "" {
		return text, nil
	}
	if text := configured(k.config); text != "" {
		return text, nil
	}
	values, err := file()
	return values[k.path], err
}

// missing is the problem of a secret that is nowhere.
func (k key) missing(place remedy.Place) strictyaml.Fault {
	return strictyaml.Fault{
		What: "lacks " + k.path, Rule: "it is neither in " + inventory.SecretsFile + " nor in the stack's configuration",
		Do: place.Complete("add it with `em-infra secrets edit`, or run `pulumi config set --secret --stack STACK " + Key(k.config) + "`"),
	}
}

// secret returns a key. part is the first key of the path in cluster.yaml to what needs it, and below are the others.
func (k *keys) secret(wanted key, part string, below ...string) pulumi.StringInput {
	value := k.text(wanted, part, below...)
	if value == "" {
		return nil
	}
	return secretText(value)
}

// text returns a key as it is. It must not be shown.
func (k *keys) text(wanted key, part string, below ...string) string {
	value, err := wanted.find(k.configured, k.file)
	switch {
	case err != nil:
		k.refuseFile(err, part)
	case value == "":
		k.refuse(wanted.missing(k.place()), append([]string{part}, below...)...)
	}
	return value
}

// place completes the commands in what the program itself reports, which plain pulumi shows too.
func (k *keys) place() remedy.Place { return placeOf(k.stack) }

func placeOf(stack string) remedy.Place {
	return remedy.Place{Name: stack, Stack: "--stack " + stack}
}

// refuseFile reports once what is wrong with the file, no matter how many keys are read from it. part is the part of cluster.yaml that needs the
// first of them.
func (k *keys) refuseFile(err error, part string) {
	if !k.reported {
		what, do := remedy.Split(k.place().CompleteError(err))
		k.refuse(strictyaml.Fault{What: "needs secrets that cannot be read: " + what, Do: do}, part)
	}
	k.reported = true
}

// age returns the age identity that Flux decrypts with. The error never quotes the file.
func (k *keys) age(decryption inventory.Decryption) pulumi.StringInput {
	at := []string{"addons", "flux", "decryption"}
	path, origin := os.Getenv(inventory.AgeKeyFileVariable), inventory.AgeKeyFileVariable+" names"
	if decryption.AgeKeyFile != "" {
		var err error
		at, origin = append(at, "ageKeyFile"), "it is looked for at"
		if path, err = beside(k.inv, decryption.AgeKeyFile); err != nil {
			k.refuse(strictyaml.Fault{What: "leads nowhere", Rule: err.Error(), Got: decryption.AgeKeyFile, Do: "give an absolute path"}, at...)
			return nil
		}
	}
	if path == "" {
		k.refuse(strictyaml.Fault{What: "has no age key", Do: "give ageKeyFile, or set " + inventory.AgeKeyFileVariable + " to the file that holds it"}, at...)
		return nil
	}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		k.refuse(strictyaml.Fault{What: "has no file with the age key", Rule: origin + " " + path, Do: "correct the path or restore the file"}, at...)
		return nil
	case err != nil:
		k.refuse(strictyaml.Fault{What: "has an age key that cannot be read", Rule: err.Error(), Do: "give it to the user who runs this"}, at...)
		return nil
	}
	if _, err := age.ParseIdentities(strings.NewReader(string(text))); err != nil {
		// The parser's error may repeat the line, so it is not passed on.
		k.refuse(strictyaml.Fault{
			What: "has a file that holds no age key", Rule: origin + " " + path,
			Do: "give one as age-keygen writes it: comments, and AGE-SECRET-KEY-1…",
		}, at...)
		return nil
	}
	return secretText(string(text))
}

func (k *keys) refuse(fault strictyaml.Fault, path ...string) {
	k.problems = append(k.problems, k.inv.ClusterProblem(fault, path...))
}

func secretText(text string) pulumi.StringInput {
	return pulumi.ToSecret(pulumi.String(text)).(pulumi.StringOutput)
}
