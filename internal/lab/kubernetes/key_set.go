package kubernetes

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/config"
)

// keySet has the keys and certificates of static pods whose machine configuration has other keys than at the start of the
// processes. A static pod that is started again mounts the new keys, while the static pods of other control planes still have the
// former ones.
type keySet struct {
	keys   string // their fingerprint
	folder folder
	config config.Provider
}

// fingerprint identifies the keys that static pods mount (k8s/render_secrets_static_pod.go).
func fingerprint(cfg config.Provider) string {
	cluster, sum := cfg.Cluster(), sha256.New()
	add := func(part []byte) { fmt.Fprintf(sum, "%d:%s", len(part), part) } // never fails
	add([]byte(cluster.SecretboxEncryptionSecret()))
	add([]byte(cluster.AESCBCEncryptionSecret()))
	if account := cluster.ServiceAccount(); account != nil {
		add(account.Key)
	}
	if ca := cluster.IssuingCA(); ca != nil {
		add(ca.Crt)
	}
	add(bundle(cfg))
	if ca := cluster.AggregatorCA(); ca != nil {
		add(ca.Crt)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// folderOf returns the folder with the keys of this fingerprint.
func (p *controlPlane) folderOf(keys string) folder {
	if keys == p.keys {
		return p.folder
	}
	return folder(p.folder.path("keys", keys))
}

// mount writes the files of an instance, unless its keys are mounted already. The caller holds the lock.
func (p *controlPlane) mount(i instance) error {
	if i.keys == p.keys || slices.ContainsFunc(p.others, func(s keySet) bool { return s.keys == i.keys }) {
		return nil
	}
	set := keySet{keys: i.keys, folder: p.folderOf(i.keys), config: i.node.Config}
	if err := set.folder.make(); err != nil {
		return err
	}
	err := errors.Join(
		set.folder.writeSecrets(set.config), set.folder.writeSettings(set.config),
		set.folder.writeServingCertificate(set.config, p.names), set.folder.writeKubeconfigs(set.config, p.api()),
	)
	if err == nil {
		p.others = append(p.others, set)
	}
	return err
}

// mountAll is mount for all processes of a lineup. The caller holds the lock.
func (p *controlPlane) mountAll(wanted lineup) error {
	var errs []error
	for _, server := range wanted.servers {
		errs = append(errs, p.mount(server))
	}
	for _, i := range []*instance{wanted.manager, wanted.scheduler} {
		if i != nil {
			errs = append(errs, p.mount(*i))
		}
	}
	return errors.Join(errs...)
}
