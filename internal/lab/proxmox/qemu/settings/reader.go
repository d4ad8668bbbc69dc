// Package settings parses and checks the settings of VMs by the API description: their formats, and what callers need to
// change them in addition to the permissions of a method (qemu-server API2/Qemu.pm). It is stateless.
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

// Reader parses and formats the settings of VMs by the API description.
type Reader struct{ env *host.Environment }

// NewReader returns a reader for the release of a host.
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

// ParseDrive parses a drive. Its error names the parameter.
func (r Reader) ParseDrive(key, text string) (*vmconfig.Drive, error) {
	drive, err := vmconfig.ParseDrive(key, text, r.Fields(key))
	if err != nil {
		return nil, schema.BadParam(key, "unable to parse drive options")
	}

	return drive, nil
}

// Drives parses all drives of a configuration, in Proxmox VE's order.
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

// ParseCard parses a network card, and generates a MAC address if it has none.
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

// HashPassword returns a cloud-init password as a hash, as a real host does; a guest could not verify this one (qemu-server
// API2/Qemu.pm, encrypt_pw). A hash is returned unchanged.
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
