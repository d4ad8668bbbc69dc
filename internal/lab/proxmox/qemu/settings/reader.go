// Package settings reads and checks the settings of VMs as the description of the API has them: their forms, and what callers
// need to change them beyond the permissions of a method (qemu-server API2/Qemu.pm). It keeps nothing.
package settings

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// CreatePath is the method whose parameters describe all settings of a VM.
const CreatePath = "/nodes/{node}/qemu"

// Reader reads and writes the settings of VMs, as the description of the API has them.
type Reader struct{ env *host.Environment }

// NewReader is a reader for the release of a host.
func NewReader(env *host.Environment) Reader { return Reader{env: env} }

// Fields returns the property string's fields of a VM setting.
func (r Reader) Fields(key string) map[string]*schema.Property {
	method, ok := r.env.Schema.Method("POST", CreatePath)
	if !ok {
		return nil
	}

	p, ok := schema.Lookup(method.Parameters, key)
	if !ok {
		return nil
	}

	return p.Fields()
}

// ParseDrive reads a drive; its error is about the parameter of that name.
func (r Reader) ParseDrive(key, text string) (*vmconfig.Drive, error) {
	drive, err := vmconfig.ParseDrive(key, text, r.Fields(key))
	if err != nil {
		return nil, schema.BadParam(key, "unable to parse drive options")
	}

	return drive, nil
}

// Drives reads all drives of a configuration, in Proxmox VE's order.
func (r Reader) Drives(c *vmconfig.Config) ([]*vmconfig.Drive, error) {
	var drives []*vmconfig.Drive

	for _, key := range c.DriveKeys() {
		drive, err := vmconfig.ParseDrive(key, c.Get(key), r.Fields(key))
		if err != nil {
			return nil, fmt.Errorf("unable to parse drive options for '%s'", key)
		}

		drives = append(drives, drive)
	}

	return drives, nil
}

// ParseCard reads a network card and gives it an address if it has none.
func (r Reader) ParseCard(vmid int, key, text string) (*vmconfig.Card, error) {
	card, err := vmconfig.ParseCard(text, r.Fields(key))
	if err != nil {
		return nil, schema.BadParam(key, "invalid format - %s", err)
	}

	if card.Options["macaddr"] == "" {
		if err := card.GenerateMAC(r.env.Random.Reader(fmt.Sprintf("vm %d %s", vmid, key))); err != nil {
			return nil, err
		}
	}

	card.Options["macaddr"] = strings.ToUpper(card.Options["macaddr"])

	return card, nil
}

// HashPassword keeps a cloud-init password as a hash, as a real host does, although not as one that a guest could
// check (qemu-server API2/Qemu.pm, encrypt_pw). What is hashed already stays.
func (r Reader) HashPassword(vmid int, password string) string {
	if strings.HasPrefix(password, "$") {
		return password
	}

	sum := sha256.Sum256(fmt.Appendf(nil, "%x %d %s", r.env.Seed, vmid, password))

	return "$5$" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// AgentEnabled reports whether a VM has a port for a guest agent.
func (r Reader) AgentEnabled(c *vmconfig.Config) bool {
	options, err := schema.ParseProperties(r.Fields("agent"), c.Get("agent"))
	return err == nil && options["enabled"] == "1"
}
