package nodes

import (
	"fmt"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
)

// installedPackage is a package of a host (API2/APT.pm, versions).
type installedPackage struct {
	Package      string
	Title        string
	Version      string
	OldVersion   string
	Origin       string
	Priority     string
	Section      string
	Arch         string
	Description  string
	CurrentState string

	RunningKernel  string `json:",omitempty"`
	ManagerVersion string `json:",omitempty"`
}

// listPackages handles GET /nodes/{node}/apt/versions, with some of the packages of a real host. One that the host may lack is listed only
// if it is installed.
func (s *Service) listPackages(c *api.Call) (any, error) {
	host, _ := s.env.Nodes.Host(c.Node)
	v := s.version()

	list := []installedPackage{{
		Package: "proxmox-ve", Title: "Proxmox Virtual Environment", Version: v.Release + ".0", RunningKernel: s.kernelOf(host),
	}, {
		Package: "pve-manager", Title: "Proxmox Virtual Environment Management Tools", Version: v.Version,
		ManagerVersion: fmt.Sprintf("%s/%s", v.Version, v.RepoID),
	}}
	if !host.Setup.NoIfupdown2 {
		list = append(list, installedPackage{Package: "ifupdown2", Title: "Network Interface Management tool similar to ifupdown", Version: "3.3.0-1+pmx10"})
	}

	for i := range list {
		p := &list[i]
		p.OldVersion, p.Origin, p.Priority, p.Section, p.Arch = p.Version, "Proxmox", "optional", "admin", "all"
		p.Description, p.CurrentState = p.Title, "Installed"
	}

	return list, nil
}
