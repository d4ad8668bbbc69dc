// Package secretvariables finds in secrets.sops.yaml what the engine reads from its environment before a program runs: the passphrase of the
// state, and the key of its bucket.
package secretvariables

import (
	"slices"

	"github.com/em-infra/em-infra/internal/inventory/secrets"
)

// Passphrase is the path of the passphrase of the state, and PassphraseVariable the variable that it stands for.
const (
	Passphrase         = "pulumi.passphrase"
	PassphraseVariable = "PULUMI_CONFIG_PASSPHRASE"
)

// variable is an environment variable that a value of the file stands for.
type variable struct {
	path, name string
	// unless are the variables that win over the file: if all of one list are set, another way was chosen.
	unless [][]string
}

// key are the variables of the key of a bucket. If only one of them is in the environment, it does not count: the other one, from the file, may be
// of another key.
var key = []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}

// The names are those of the engine (pulumi pkg/v3 v3.254.0, secrets/passphrase/manager.go) and of the client of S3
// (aws-sdk-go-v2/config v1.32.20, env_config.go).
var variables = []variable{
	{Passphrase, PassphraseVariable, [][]string{{PassphraseVariable}, {"PULUMI_CONFIG_PASSPHRASE_FILE"}}},
	{"state.accessKeyId", "AWS_ACCESS_KEY_ID", [][]string{key, {"AWS_PROFILE"}}},
	{"state.secretAccessKey", "AWS_SECRET_ACCESS_KEY", [][]string{key, {"AWS_PROFILE"}}},
}

// Variable is an environment variable with a secret value.
type Variable struct {
	Name  string
	Value secrets.Secret
}

// isSet reports whether the environment has a variable. A pipeline sets those of secrets that it does not have to an empty text, which counts
// as none; but an empty passphrase is one.
func isSet(name string, lookUp func(string) (string, bool)) bool {
	value, found := lookUp(name)
	return found && (value != "" || name == PassphraseVariable)
}

// Find returns the variables that the file of a folder has and that the environment leaves to it, in the order of the documentation. The
// file is decrypted only if it has one of them; its names can be read without a key. Errors are those of [secrets.Load].
func Find(folder string, keys secrets.Keys, lookUp func(string) (string, bool)) ([]Variable, error) {
	names, err := secrets.Names(folder)
	if err != nil {
		return nil, err
	}
	wanted := slices.DeleteFunc(slices.Clone(variables), func(v variable) bool {
		return !slices.Contains(names, v.path) || slices.ContainsFunc(v.unless, func(all []string) bool {
			return !slices.ContainsFunc(all, func(name string) bool { return !isSet(name, lookUp) })
		})
	})
	if len(wanted) == 0 {
		return nil, nil
	}
	file, err := secrets.Load(folder, keys)
	if err != nil {
		return nil, err
	}
	var found []Variable
	for _, v := range wanted {
		if value, there := file.At(v.path); there && value.Reveal() != "" { // an empty value is one that was not entered yet
			found = append(found, Variable{Name: v.name, Value: value})
		}
	}
	return found, nil
}
