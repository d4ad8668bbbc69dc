// Package kitcheck checks whether a cluster can be rebuilt from a recovery kit: whether its parts are sound and belong together, and whether they
// are those of the cluster as this machine describes it and as it runs.
package kitcheck

import (
	"context"
	"fmt"

	"filippo.io/age"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/operator/internal/machinesecrets"
	"github.com/em-infra/em-infra/operator/internal/preflight"
	"github.com/em-infra/em-infra/operator/internal/recoverykit"
)

// Kit is a recovery kit that was opened, and what it is compared with.
type Kit struct {
	*recoverykit.Opened

	// Identities open the snapshot of etcd in it.
	Identities []age.Identity
	// Passphrase is that of the user, for a kit without one. Default: nil, there is none.
	Passphrase *engine.Passphrase
	// Inventory is the folder of the stack's inventory on this machine.
	Inventory string
	// Secrets returns the fingerprint of the machine secrets in the state of the stack; empty if it has none. Required.
	Secrets func(context.Context) (fingerprint string, err error)
}

// checks are the checks of one kit.
type checks struct {
	Kit

	found preflight.Report
}

// newKit is what to do about a kit that does not fit.
const newKit = "make a new one with `em-infra kit create`"

// Check checks the kit and changes nothing. What cannot be compared, since this machine has no state or a node does not answer, is a
// warning. The error is that of this machine or of ctx.
func (k Kit) Check(ctx context.Context) (preflight.Report, error) {
	c := &checks{Kit: k}
	c.add("kit", preflight.OK, fmt.Sprintf("it opens: made %s UTC of Talos %s and Kubernetes %s", k.Made.Format("2006-01-02 15:04"), k.Talos, k.Kubernetes), "")
	secrets, err := c.secrets()
	if err != nil {
		return nil, err
	}
	c.inventory()
	c.state(secrets)
	if err := c.snapshot(); err != nil {
		return nil, err
	}
	c.againstState(ctx)
	if err := c.againstNodes(ctx); err != nil {
		return nil, err
	}
	return c.found, nil
}

func (c *checks) add(name string, result preflight.Result, sentence, remedy string) {
	c.found = append(c.found, preflight.Check{Name: name, Result: result, Sentence: sentence, Remedy: remedy})
}

// secrets reads the machine secrets of the kit; their fingerprint is empty if they cannot be read.
func (c *checks) secrets() (fingerprint string, err error) {
	text, _ := c.File(recoverykit.MachineSecrets)
	bundle, err := machinesecrets.Parse(text)
	if err != nil {
		c.add("secrets", preflight.Fail, err.Error(), newKit)
		return "", nil
	}
	fingerprint, err = bundle.Fingerprint()
	if err != nil {
		return "", err
	}
	if fingerprint != c.Opened.Secrets {
		c.add("secrets", preflight.Fail, "the machine secrets are not those that the kit was made with", newKit)
		return fingerprint, nil
	}
	c.add("secrets", preflight.OK, fmt.Sprintf("the machine secrets are complete; their CA has SHA-256 %.12s…", c.CA), "")
	return fingerprint, nil
}
