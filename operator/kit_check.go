package operator

import (
	"context"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/operator/internal/kitcheck"
)

// CheckKit opens a recovery kit and checks that a cluster can be rebuilt from it: that it is whole, that its parts belong together, and
// that they match the inventory, the state and the running cluster. An empty path means the newest kit of the stack on this machine. It
// changes nothing. What cannot be compared, since this machine has no state or a node does not answer, is a warning.
func (o *Operator) CheckKit(ctx context.Context, file string) (Checks, error) {
	opened, err := o.openKit(file)
	if err != nil {
		return nil, err
	}
	identities, err := o.identities()
	if err != nil {
		return nil, err
	}
	kit := kitcheck.Kit{
		Opened: opened, Identities: identities, Passphrase: engine.PassphraseIn(o.workspace.Environment()), Inventory: o.workspace.Inventory,
		Secrets: func(ctx context.Context) (string, error) {
			s, _, err := o.beginWithState(ctx, "")
			if err != nil {
				return "", err
			}
			return s.inState().fingerprint(ctx)
		},
	}
	report, err := kit.Check(ctx)
	return report.At(o.remedies()), err
}
