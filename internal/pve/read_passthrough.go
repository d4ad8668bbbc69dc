package pve

import (
	"cmp"
	"context"

	"github.com/em-infra/em-infra/internal/pve/passthrough"
)

// Passthrough returns what a host reports about its firmware, its kernel and the drivers of its devices. Its report takes some seconds, so its time
// limit is longer than that of other answers. If the report cannot be read, the facts contain the reason.
func (c Connection) Passthrough(ctx context.Context, node string) (passthrough.Facts, error) {
	client, err := c.client(reportTimeout)
	if err != nil {
		return passthrough.Facts{}, err
	}
	r := Reader{client}
	var answer struct {
		Boot struct {
			Mode       string `json:"mode"`
			SecureBoot Flag   `json:"secureboot"`
		} `json:"boot-info"`
		Kernel struct {
			Release string `json:"release"`
		} `json:"current-kernel"`
		CPUInfo struct {
			Model string `json:"model"`
			// Vendor is that of /proc/cpuinfo, from pve-common 9.1 of 2026 on.
			Vendor string `json:"vendor"`
		} `json:"cpuinfo"`
	}
	if err := r.get(ctx, &answer, nodePath(node, "status")); err != nil {
		return passthrough.Facts{}, err
	}
	facts := passthrough.Facts{
		Processor: cmp.Or(passthrough.VendorOf(answer.CPUInfo.Vendor), passthrough.VendorOf(answer.CPUInfo.Model)), Kernel: answer.Kernel.Release,
		LegacyBIOS: answer.Boot.Mode == "legacy-bios", SecureBoot: bool(answer.Boot.SecureBoot),
	}
	var report string
	if facts.ReportErr = r.get(ctx, &report, nodePath(node, "report")); facts.ReportErr == nil {
		facts.Report = passthrough.ParseReport(report)
	}
	return facts, nil
}

// HasPackage reports whether a package of those that Proxmox VE lists is installed on a host.
func (r Reader) HasPackage(ctx context.Context, node, name string) (bool, error) {
	var packages []struct{ Package, CurrentState string }
	if err := r.get(ctx, &packages, nodePath(node, "apt/versions")); err != nil {
		return false, err
	}
	for _, one := range packages {
		if one.Package == name {
			return one.CurrentState == "Installed", nil
		}
	}
	return false, nil
}
