package operator

import (
	"os"

	"github.com/em-infra/em-infra/internal/inventory/secrets"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/secretvariables"
)

// CompleteEnvironment sets the variables that the engine and the client of a bucket read and that the stack's secrets.sops.yaml has: the passphrase
// of the state (pulumi.passphrase) and the key of its bucket (state.accessKeyId, state.secretAccessKey). Variables that are set already win. The
// variables are set for the whole process, so one process works on stacks with the same passphrase only; [RunSite] and [EachStack] remove them before
// the next stack. A rehearsal has a passphrase of its own.
//
// A file that cannot be read is no error yet: the operations that need the passphrase or the key refuse with the reason.
func (o *Operator) CompleteEnvironment(set func(name, value string) error) error {
	if o.workspace.Rehearsed {
		return nil
	}
	found, err := secretvariables.Find(workspace.Nearby(o.workspace.Inventory), secrets.KeysHere(), os.LookupEnv)
	if err != nil {
		o.unread = o.remedies().CompleteError(err)
		return nil
	}
	for _, each := range found {
		if err := set(each.Name, each.Value.Reveal()); err != nil {
			return err
		}
		o.fromSecrets = append(o.fromSecrets, each.Name)
	}
	return nil
}
