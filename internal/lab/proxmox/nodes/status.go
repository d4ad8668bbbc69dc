package nodes

import (
	"fmt"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/hardware"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// nodeStatus is the state of a host (API2/Nodes.pm, status).
type nodeStatus struct {
	Uptime     int64     `json:"uptime"`
	LoadAvg    []string  `json:"loadavg"`
	KVersion   string    `json:"kversion"`
	CPU        float64   `json:"cpu"`
	Wait       float64   `json:"wait"`
	PVEVersion string    `json:"pveversion"`
	CPUInfo    cpuInfo   `json:"cpuinfo"`
	Memory     hostUsage `json:"memory"`
	Swap       usage     `json:"swap"`
	KSM        sharedMem `json:"ksm"`
	RootFS     diskUsage `json:"rootfs"`
	Kernel     kernel    `json:"current-kernel"`
	Boot       bootInfo  `json:"boot-info"`
}

type cpuInfo struct {
	Cores   int    `json:"cores"`
	CPUs    int    `json:"cpus"`
	Sockets int    `json:"sockets"`
	Model   string `json:"model"`
	Flags   string `json:"flags"`
	HVM     string `json:"hvm"`
	MHz     string `json:"mhz"`
	UserHz  int    `json:"user_hz"`
}

type usage struct {
	Total uint64 `json:"total"`
	Used  uint64 `json:"used"`
	Free  uint64 `json:"free"`
}

// hostUsage has the free and the reclaimable memory.
type hostUsage struct {
	usage
	Available uint64 `json:"available"`
}

type sharedMem struct {
	Shared uint64 `json:"shared"`
}

type diskUsage struct {
	usage
	Available uint64 `json:"avail"`
}

type kernel struct {
	System  string `json:"sysname"`
	Release string `json:"release"`
	Version string `json:"version"`
	Machine string `json:"machine"`
}

type bootInfo struct {
	Mode       string `json:"mode"`
	SecureBoot *int   `json:"secureboot,omitempty"`
}

// getNodeStatus handles GET /nodes/{node}/status.
func (s *Service) getNodeStatus(c *api.Call) (any, error) {
	host, _ := s.env.Nodes.Host(c.Node)
	total, used := s.memory(host)
	running := kernel{System: "Linux", Release: s.kernelOf(host), Version: "#1 SMP PREEMPT_DYNAMIC", Machine: "x86_64"}

	v := s.version()

	return nodeStatus{
		Uptime:  s.uptime(),
		LoadAvg: []string{"0.08", "0.12", "0.10"}, CPU: 0.02,
		KVersion:   fmt.Sprintf("%s %s %s", running.System, running.Release, running.Version),
		PVEVersion: fmt.Sprintf("pve-manager/%s/%s", v.Version, v.RepoID),
		CPUInfo: cpuInfo{
			Cores: max(1, host.Cores/2), CPUs: host.Cores, Sockets: 1, Model: host.CPUModel, Flags: "vmx svm aes avx2",
			HVM: "1", MHz: "2500.000", UserHz: 100,
		},
		Memory: hostUsage{usage: usage{Total: total, Used: used, Free: total - used}, Available: total - used},
		RootFS: diskUsage{
			usage:     usage{Total: rootDiskBytes, Used: rootDiskUsed, Free: rootDiskBytes - rootDiskUsed},
			Available: rootDiskBytes - rootDiskUsed,
		},
		Kernel: running, Boot: bootOf(host.Setup),
	}, nil
}

// kernelOf returns the release of a host's kernel.
func (s *Service) kernelOf(host hardware.Host) string {
	switch {
	case host.Setup.Kernel != "":
		return host.Setup.Kernel
	case s.env.Release == schema.Release84:
		return "6.8.12-9-pve"
	default:
		return "6.17.2-1-pve"
	}
}

// bootOf returns how a host was started (API2/Nodes.pm, get_boot_mode_info).
func bootOf(setup hardware.Setup) bootInfo {
	if setup.LegacyBIOS {
		return bootInfo{Mode: "legacy-bios"}
	}

	secure := 0
	if setup.SecureBoot {
		secure = 1
	}

	return bootInfo{Mode: "efi", SecureBoot: &secure}
}
