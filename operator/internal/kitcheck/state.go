package kitcheck

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/operator/internal/machinesecrets"
	"github.com/em-infra/em-infra/operator/internal/preflight"
	"github.com/em-infra/em-infra/operator/internal/recoverykit"
)

// state checks the configuration of the stack and the state, which has to have the machine secrets with that fingerprint.
func (c *checks) state(secrets string) {
	if len(c.In(recoverykit.ProjectFolder)) == 0 {
		c.add("project", preflight.Fail, "the configuration of the stack is missing", newKit)
	}
	text, found := c.File(path.Join(recoverykit.StateFolder, c.State+".json"))
	if !found {
		c.add("state", preflight.Fail, "the state is missing", newKit)
		return
	}
	if service, err := serviceOf(text); err == nil && service != "" {
		c.add("state", preflight.Warn, "the state is sealed by "+service+", which is not asked: whoever rebuilds the cluster needs access to it", "")
		return
	}
	copied, err := c.open(text)
	if err != nil {
		c.add("state", preflight.Fail, "the passphrase does not open the state", "set PULUMI_CONFIG_PASSPHRASE_FILE to the file with the passphrase of the stack, or "+newKit)
		return
	}
	if fingerprint, err := Fingerprint(copied); err != nil || fingerprint != secrets {
		c.add("state", preflight.Fail, "the state has other machine secrets than the kit", newKit)
		return
	}
	c.add("state", preflight.OK, fmt.Sprintf("the state opens, has the same machine secrets and %d resources", len(copied.Deployment.Resources)), "")
}

// serviceOf returns the key service that seals a state; empty for a passphrase.
func serviceOf(text []byte) (string, error) {
	exported, err := engine.State{}.Read(text)
	if err != nil {
		return "", err
	}
	return exported.KeyService()
}

// open decrypts the state with the passphrase in the kit, or else with that of the user.
func (c *checks) open(text []byte) (*engine.Exported, error) {
	opener := c.Passphrase
	if passphrase, found := c.File(recoverykit.Passphrase); found {
		opener = engine.PassphraseIn(map[string]string{"PULUMI_CONFIG_PASSPHRASE": string(passphrase)})
	}
	return engine.State{Stack: c.Stack, Passphrase: opener}.ReadOpened(text)
}

// Fingerprint returns that of the machine secrets in a state; empty if it has none.
func Fingerprint(exported *engine.Exported) (string, error) {
	properties, err := state.MachineSecretsText(exported.Deployment)
	if err != nil || properties == nil {
		return "", err
	}
	bundle, err := machinesecrets.FromState(properties)
	if err != nil {
		return "", err
	}
	return bundle.Fingerprint()
}

// againstState compares the machine secrets with those of the stack's state.
func (c *checks) againstState(ctx context.Context) {
	fingerprint, err := c.Kit.Secrets(ctx)
	switch {
	case err != nil:
		c.add("stack", preflight.Warn, "not compared with the state of the stack: "+firstLine(err), "")
	case fingerprint == "":
		c.add("stack", preflight.Warn, "not compared with the state of the stack, which has no machine secrets", "")
	case fingerprint != c.Opened.Secrets:
		c.add("stack", preflight.Fail, "the kit is older than the machine secrets in the state of the stack", newKit)
	default:
		c.add("stack", preflight.OK, "the machine secrets are those in the state of the stack", "")
	}
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
