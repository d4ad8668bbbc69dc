package snapshot

import (
	"fmt"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
)

// feature is what a VM can do, and on which nodes.
type feature struct {
	Has   int      `json:"hasFeature"`
	Nodes []string `json:"nodes"`
}

// hasFeature handles GET …/feature (API2/Qemu.pm, vm_feature; QemuConfig.pm, has_feature). The nodes are those of a VM on local storages.
func (s *Service) hasFeature(c *api.Call) (any, error) {
	if asked := c.Params.Get("feature"); asked != "snapshot" || c.Params.Has("snapname") {
		return nil, fmt.Errorf("the feature %s, or that of a snapshot, is not emulated", asked)
	}

	can := false

	err := s.configs.On(c.Node, c.VMID, func(m *config.VM) (err error) {
		can, err = s.canSnapshot(m)
		return err
	})

	return feature{Has: api.Flag(can), Nodes: []string{c.Node}}, err
}
