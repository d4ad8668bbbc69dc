package lab

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/truenas"
)

// NAS is the TrueNAS box of a site.
type NAS struct {
	// User is the account whose API key the lab makes.
	User string
	// Pools are the ZFS pools that it has.
	Pools []string
	// Addresses are those of its interfaces.
	Addresses []string
	// ISCSIBase is the beginning of the names of its iSCSI targets; empty for that of a new box.
	ISCSIBase string
}

// nasPool is the size of the pool: 4 TiB.
const nasPool = 4 << 40

// nasOf returns the box that an inventory describes; nil without `storage:`.
func nasOf(inv *inventory.Inventory) *NAS {
	storage := inv.Cluster.Storage
	if storage == nil {
		return nil
	}
	nas := &NAS{User: storage.Username, Pools: []string{storage.Pool}}
	if truenas := inv.Cluster.Addons.TrueNAS; truenas != nil && truenas.CSI != nil && truenas.CSI.Serves(inventory.ProtocolISCSI) {
		nas.ISCSIBase = truenas.CSI.IQNBase // the real box has it too, otherwise the preflight reports that
	}
	if storage.ISCSI != nil {
		for _, address := range storage.ISCSI.Listen {
			if !address.IsUnspecified() {
				nas.Addresses = append(nas.Addresses, address.String())
			}
		}
	}
	return nas
}

// withNAS adds the address and the key of a box to the description of a site that has one. They are kept from then on.
func (d Description) withNAS(o Options) (Description, error) {
	if o.Site.NAS == nil || d.NAS.IsValid() {
		return d, nil
	}
	registered, err := registry(o.Registry).others(o.Dir)
	if err != nil {
		return d, err
	}
	taken := append(takenBy(registered).ports, takenBy(descriptionsBeside(o.Dir)).ports...)
	ports, err := freePorts(1, append(taken, d.Proxmox.Port(), d.Factory.Port()))
	if err != nil {
		return d, err
	}
	d.NAS, d.NASKey = netip.AddrPortFrom(d.Proxmox.Addr(), ports[0]), "1-"+rand.Text()
	return d, nil
}

// NASEndpoint returns the URL of the box; empty without one.
func (d Description) NASEndpoint() string {
	if !d.NAS.IsValid() {
		return ""
	}
	return "https://" + d.NAS.String()
}

// NASFingerprint returns the SHA-256 of the certificate of the box in a lab's folder. Box and host have the same one.
func NASFingerprint(dir string, d Description) (string, error) {
	certificate, err := hostCertificate(dir, d)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(certificate.Certificate[0])
	return strings.ToUpper(hex.EncodeToString(sum[:])), nil
}

// NASCalls returns the path of the call log of the box in a lab's folder, JSON lines.
func NASCalls(dir string) string { return filepath.Join(dir, "calls-truenas.jsonl") }

// openNAS opens the box of the site, if it has one.
func (e *emulation) openNAS(o Options, d Description, speed pace.Pace, log io.Writer) (err error) {
	nas := o.Site.NAS
	if nas == nil || !d.NAS.IsValid() {
		return nil
	}
	var pools []truenas.Pool
	for _, name := range nas.Pools {
		pools = append(pools, truenas.Pool{Name: cmp.Or(name, "tank"), Size: nasPool})
	}
	e.nas, err = truenas.New(truenas.Config{
		Pools: pools, Addresses: nas.Addresses, ISCSIBase: nas.ISCSIBase, User: nas.User, Key: d.NASKey,
		Roles: truenas.OperatorRoles, Faults: e.faults, StateFile: filepath.Join(o.Dir, "nas.json"), Log: log,
		Scaled: speed.Scaled, // else runs that follow each other faster than with real machines would have too many logins in a minute
	})
	return err
}
