package qemu

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// createPath is the method whose parameters describe all settings of a VM.
const createPath = "/nodes/{node}/qemu"

// settings reads and writes the settings of VMs, as the description of the API has them. It keeps nothing.
type settings struct{ env *host.Environment }

// fields returns the property string's fields of a VM setting.
func (s settings) fields(key string) map[string]*schema.Property {
	method, ok := s.env.Schema.Method("POST", createPath)
	if !ok {
		return nil
	}

	p, ok := schema.Lookup(method.Parameters, key)
	if !ok {
		return nil
	}

	return p.Fields()
}

// parseDrive reads a drive; its error is about the parameter of that name.
func (s settings) parseDrive(key, text string) (*vmconfig.Drive, error) {
	drive, err := vmconfig.ParseDrive(key, text, s.fields(key))
	if err != nil {
		return nil, schema.BadParam(key, "unable to parse drive options")
	}

	return drive, nil
}

// drives reads all drives of a configuration, in Proxmox VE's order.
func (s settings) drives(c *vmconfig.Config) ([]*vmconfig.Drive, error) {
	var drives []*vmconfig.Drive

	for _, key := range c.DriveKeys() {
		drive, err := vmconfig.ParseDrive(key, c.Get(key), s.fields(key))
		if err != nil {
			return nil, fmt.Errorf("unable to parse drive options for '%s'", key)
		}

		drives = append(drives, drive)
	}

	return drives, nil
}

// parseCard reads a network card and gives it an address if it has none.
func (s settings) parseCard(vmid int, key, text string) (*vmconfig.Card, error) {
	card, err := vmconfig.ParseCard(text, s.fields(key))
	if err != nil {
		return nil, schema.BadParam(key, "invalid format - %s", err)
	}

	if card.Options["macaddr"] == "" {
		if err := card.GenerateMAC(s.env.Random.Reader(fmt.Sprintf("vm %d %s", vmid, key))); err != nil {
			return nil, err
		}
	}

	card.Options["macaddr"] = strings.ToUpper(card.Options["macaddr"])

	return card, nil
}

// hashPassword keeps a cloud-init password as a hash, as a real host does, although not as one that a guest could
// check (qemu-server API2/Qemu.pm, encrypt_pw). What is hashed already stays.
func (s settings) hashPassword(vmid int, password string) string {
	if strings.HasPrefix(password, "$") {
		return password
	}

	sum := sha256.Sum256(fmt.Appendf(nil, "%x %d %s", s.env.Seed, vmid, password))

	return "$5$" + base64.RawStdEncoding.EncodeToString(sum[:])
}
