package operator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/state"
	"github.com/em-infra/em-infra/internal/etcdsnapshot"
	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/operator/internal/machinesecrets"
	"github.com/em-infra/em-infra/operator/internal/preflight"
	"github.com/em-infra/em-infra/operator/internal/recoverykit"
)

// CheckKit opens a recovery kit and checks that a cluster can be rebuilt from it: that it is whole, that its parts belong together, and
// that they are those of the cluster as the state has it and as it runs. An empty path means the newest kit of the stack on this
// machine. It changes nothing. What cannot be compared, since this machine has no state or a node does not answer, is a warning.
func (o *Operator) CheckKit(ctx context.Context, file string) (Checks, error) {
	opened, err := o.openKit(file)
	if err != nil {
		return nil, err
	}
	c := &kitChecks{Operator: o, kit: opened}
	c.add("kit", preflight.OK, fmt.Sprintf("it opens: made %s UTC of Talos %s and Kubernetes %s", opened.Made.Format("2006-01-02 15:04"), opened.Talos, opened.Kubernetes), "")
	secrets, err := c.secrets()
	if err != nil {
		return nil, err
	}
	c.contents(secrets)
	if err := c.snapshot(); err != nil {
		return nil, err
	}
	c.againstState(ctx)
	if err := c.againstNodes(ctx); err != nil {
		return nil, err
	}
	return c.found.At(o.remedies()), nil
}

// kitChecks are the checks of one kit.
type kitChecks struct {
	*Operator

	kit   *recoverykit.Opened
	found preflight.Report
}

// newKit is what to do about a kit that does not fit.
const newKit = "make a new one with `em-infra kit create`"

func (c *kitChecks) add(name string, result preflight.Result, sentence, remedy string) {
	c.found = append(c.found, preflight.Check{Name: name, Result: result, Sentence: sentence, Remedy: remedy})
}

// secrets reads the machine secrets of the kit; their fingerprint is empty if they cannot be read.
func (c *kitChecks) secrets() (fingerprint string, err error) {
	text, _ := c.kit.File(recoverykit.MachineSecrets)
	bundle, err := machinesecrets.Parse(text)
	if err != nil {
		c.add("secrets", preflight.Fail, err.Error(), newKit)
		return "", nil
	}
	fingerprint, err = bundle.Fingerprint()
	if err != nil {
		return "", err
	}
	if fingerprint != c.kit.Secrets {
		c.add("secrets", preflight.Fail, "the machine secrets are not those that the kit was made with", newKit)
		return fingerprint, nil
	}
	c.add("secrets", preflight.OK, fmt.Sprintf("the machine secrets are complete; their CA has SHA-256 %.12s…", c.kit.CA), "")
	return fingerprint, nil
}

// contents checks the inventory, the configuration of the stack and the state.
func (c *kitChecks) contents(secrets string) {
	if nodes, err := c.nodes(); err != nil {
		c.add("inventory", preflight.Fail, "the inventory is not valid: "+firstLine(err), newKit)
	} else {
		c.add("inventory", preflight.OK, fmt.Sprintf("the inventory is valid and has %d nodes", len(nodes)), "")
	}
	if len(c.kit.In(recoverykit.ProjectFolder)) == 0 {
		c.add("project", preflight.Fail, "the configuration of the stack is missing", newKit)
	}
	text, found := c.kit.File(path.Join(recoverykit.StateFolder, c.kit.State+".json"))
	if !found {
		c.add("state", preflight.Fail, "the state is missing", newKit)
		return
	}
	copied, err := c.open(text)
	if err != nil {
		c.add("state", preflight.Fail, "the passphrase does not open the state", "set PULUMI_CONFIG_PASSPHRASE_FILE to the file with the passphrase of the stack, or "+newKit)
		return
	}
	if fingerprint, err := fingerprintIn(copied); err != nil || fingerprint != secrets {
		c.add("state", preflight.Fail, "the state has other machine secrets than the kit", newKit)
		return
	}
	c.add("state", preflight.OK, fmt.Sprintf("the state opens, has the same machine secrets and %d resources", len(copied.Deployment.Resources)), "")
}

// open decrypts the state with the passphrase in the kit, or else with that of the user.
func (c *kitChecks) open(text []byte) (*engine.Exported, error) {
	given := c.workspace.Environment()
	if passphrase, found := c.kit.File(recoverykit.Passphrase); found {
		given = map[string]string{"PULUMI_CONFIG_PASSPHRASE": string(passphrase)}
	}
	return engine.State{Stack: c.kit.Stack, Passphrase: engine.PassphraseIn(given)}.ReadOpened(text)
}

// fingerprintIn returns the fingerprint of the machine secrets in a state; empty if it has none.
func fingerprintIn(exported *engine.Exported) (string, error) {
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

// nodes returns the nodes of the inventory in the kit.
func (c *kitChecks) nodes() (inventory.Nodes, error) {
	files := c.kit.In(recoverykit.InventoryFolder)
	inv, err := inventory.Parse(recoverykit.InventoryFolder, files["cluster.yaml"], files["nodes.yaml"])
	if err != nil {
		return nil, err
	}
	return inv.Nodes, nil
}

// snapshot opens the snapshot of etcd and reads the whole database.
func (c *kitChecks) snapshot() (err error) {
	if c.kit.Snapshot == "" {
		c.add("etcd", preflight.Warn, "there is no snapshot of etcd in it: the objects of Kubernetes could not be restored", "when etcd answers, "+newKit)
		return nil
	}
	folder, err := os.MkdirTemp("", "em-infra-kit-*") // the snapshot in it stays sealed
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	err = c.kit.Unpack(func(name string) string {
		if path.Dir(name) != recoverykit.EtcdFolder {
			return ""
		}
		return filepath.Join(folder, path.Base(name))
	})
	if err != nil {
		return err
	}
	verified, err := c.verify(etcdsnapshot.Store{Dir: folder})
	if err != nil {
		c.add("etcd", preflight.Fail, firstLine(err), newKit)
		return nil
	}
	c.add("etcd", preflight.OK, fmt.Sprintf("the snapshot of etcd of %s UTC is sound: revision %d", verified.Taken.Format("2006-01-02 15:04"), verified.Revision), "")
	return nil
}

func (c *kitChecks) verify(store etcdsnapshot.Store) (etcdsnapshot.Snapshot, error) {
	snapshot, err := store.Find(c.kit.Snapshot)
	if err != nil {
		return snapshot, err
	}
	identities, err := c.identities()
	if err != nil {
		return snapshot, err
	}
	opened, err := store.Open(snapshot, identities)
	if err != nil {
		return snapshot, err
	}
	snapshot.Contents = opened.Contents
	return snapshot, opened.Close()
}

// againstState compares the machine secrets with those of the stack's state.
func (c *kitChecks) againstState(ctx context.Context) {
	s, _, err := c.beginWithState(ctx, "")
	var fingerprint string
	if err == nil {
		fingerprint, err = s.secretsFingerprint(ctx)
	}
	switch {
	case err != nil:
		c.add("stack", preflight.Warn, "not compared with the state of the stack: "+firstLine(err), "")
	case fingerprint == "":
		c.add("stack", preflight.Warn, "not compared with the state of the stack, which has no machine secrets", "")
	case fingerprint != c.kit.Secrets:
		c.add("stack", preflight.Fail, "the kit is older than the machine secrets in the state of the stack", newKit)
	default:
		c.add("stack", preflight.OK, "the machine secrets are those in the state of the stack", "")
	}
}

// secretsFingerprint returns the fingerprint of the machine secrets in the stack's state; empty if it has none.
func (s *session) secretsFingerprint(ctx context.Context) (string, error) {
	exported, err := s.state.Seen(ctx)
	if err != nil {
		return "", err
	}
	return fingerprintIn(exported)
}

// againstNodes opens the Talos API of each control plane with the kit's talosconfig: a node proves by its certificate that it has the
// CA of the kit.
func (c *kitChecks) againstNodes(ctx context.Context) error {
	talosconfig, _ := c.kit.File(recoverykit.Talosconfig)
	addresses, err := nodeops.Endpoints(talosconfig)
	if err != nil {
		c.add("talosconfig", preflight.Fail, "the talosconfig cannot be read", newKit)
		return nil //nolint:nilerr // it is a finding
	}
	var accepted, foreign, silent []string
	for _, address := range addresses {
		err := nodeops.Ask(ctx, talosconfig, address, func(ctx context.Context, api *client.Client) error {
			_, err := api.Version(ctx)
			return err
		})
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			accepted = append(accepted, address)
		case errors.Is(err, nodeops.ErrForeign):
			foreign = append(foreign, address)
		default:
			silent = append(silent, fmt.Sprintf("%s (%s)", address, err))
		}
	}
	if len(foreign) > 0 {
		c.add("nodes", preflight.Fail, "the Talos API at "+strings.Join(foreign, ", ")+" does not belong to the CA of the kit", newKit)
	}
	if len(silent) > 0 {
		c.add("nodes", preflight.Warn, "not tried at "+strings.Join(silent, ", "), "")
	}
	if len(accepted) > 0 {
		c.add("nodes", preflight.OK, "the talosconfig of the kit opens the Talos API at "+strings.Join(accepted, ", "), "")
	}
	return nil
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
