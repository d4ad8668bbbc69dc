package factory

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/siderolabs/image-factory/pkg/client"
)

// releases are the stable Talos releases: the last patch of each minor version (tags of github.com/siderolabs/talos).
var releases = []struct{ minor, lastPatch int }{{9, 6}, {10, 9}, {11, 6}, {12, 11}, {13, 9}, {14, 1}}

// versions returns the releases, oldest first.
func versions() []string {
	var all []string

	for _, r := range releases {
		for patch := range r.lastPatch + 1 {
			all = append(all, fmt.Sprintf("v1.%d.%d", r.minor, patch))
		}
	}

	return all
}

// officialExtensions are the names of the official system extensions of Talos 1.12 (Makefile of
// github.com/siderolabs/extensions, tag v1.12.4). The lab offers them for every release, and newerExtensions beside them.
var officialExtensions = []string{
	"amazon-ena", "amd-ucode", "amdgpu", "binfmt-misc", "bird2", "bnx2-bnx2x", "btrfs", "chelsio-drivers",
	"chelsio-firmware", "cloudflared", "crun", "ctr", "drbd", "dvb-cx23885", "dvb-m88ds3103",
	"ecr-credential-provider", "fuse3", "gasket-driver", "glibc", "gpio-pinctrl", "gvisor", "gvisor-debug", "hailort",
	"hello-world-service", "i915", "intel-ice-firmware", "intel-ucode", "iscsi-tools", "kata-containers", "lldpd",
	"mdadm", "mei", "mellanox-mstflint", "metal-agent", "multipath-tools", "nebula", "netbird", "newt", "nfs-utils",
	"nfsd", "nfsrahead", "nonfree-kmod-nvidia-lts", "nonfree-kmod-nvidia-production", "nut-client",
	"nvidia-container-toolkit-lts", "nvidia-container-toolkit-production", "nvidia-fabricmanager-lts",
	"nvidia-fabricmanager-production", "nvidia-gdrdrv-device", "nvidia-open-gpu-kernel-modules-lts",
	"nvidia-open-gpu-kernel-modules-production", "nvme-cli", "panfrost", "qemu-guest-agent", "qlogic-firmware",
	"realtek-firmware", "revpi-firmware", "soci-snapshotter", "spin", "stargz-snapshotter", "tailscale", "tenstorrent",
	"thunderbolt", "trident-iscsi-tools", "uinput", "usb-audio-drivers", "usb-modem-drivers", "util-linux-tools",
	"v4l-uvc-drivers", "vc4", "vmtoolsd-guest-agent", "wasmedge", "xdma-driver", "xe", "xen-guest-agent", "youki",
	"zerotier", "zfs",
}

// newerExtensions are those that came later, by the minor version of the first release that has them (same Makefile, tags v1.13.9
// and v1.14.0-rc.1).
var newerExtensions = map[string]int{
	"harbor-credential-provider": 14, "hyperv-guest-agent": 14, "intel-npu": 13, "joydev": 13, "kata-containers-snp": 14,
	"px-fuse": 13, "rockchip-rknn": 13, "uhid": 13,
}

// offered returns the names of the official extensions of a release, sorted.
func offered(version string) []string {
	names := slices.Clone(officialExtensions)
	for name, since := range newerExtensions {
		if minorOf(version) >= since {
			names = append(names, name)
		}
	}
	slices.Sort(names)

	return names
}

// minorOf returns the minor version of a release, 0 if it is none.
func minorOf(version string) int {
	var minor int
	if _, err := fmt.Sscanf(version, "v1.%d.", &minor); err != nil {
		return 0
	}

	return minor
}

// renamed maps former names that the factory still accepts (internal/profile/profile.go, extensionNameAlias).
var renamed = map[string]string{
	"v4l-uvc":                        "v4l-uvc-drivers",
	"usb-modem":                      "usb-modem-drivers",
	"gasket":                         "gasket-driver",
	"talos-vmtoolsd":                 "vmtoolsd-guest-agent",
	"xe-guest-utilities":             "xen-guest-agent",
	"nvidia-container-toolkit":       "nvidia-container-toolkit-lts",
	"nvidia-open-gpu-kernel-modules": "nvidia-open-gpu-kernel-modules-lts",
	"nonfree-kmod-nvidia":            "nonfree-kmod-nvidia-lts",
	"nvidia-fabricmanager":           "nvidia-fabricmanager-lts",
	"i915-ucode":                     "i915",
	"amdgpu-firmware":                "amdgpu",
}

const owner = "siderolabs/"

// available reports whether an extension of that name, including its owner, can be built into an image.
func available(name string) bool {
	if len(name) <= len(owner) || name[:len(owner)] != owner {
		return false
	}

	bare := name[len(owner):]
	if now, ok := renamed[bare]; ok {
		bare = now
	}

	_, isNewer := newerExtensions[bare]

	return isNewer || slices.Contains(officialExtensions, bare)
}

// extensions returns the official extensions of a release. Their versions and digests are invented.
func extensions(version string) []client.ExtensionInfo {
	names := offered(version)
	list := make([]client.ExtensionInfo, len(names))

	for i, name := range names {
		ref := "ghcr.io/" + owner + name + ":" + version
		sum := sha256.Sum256([]byte(ref))
		list[i] = client.ExtensionInfo{
			Name: owner + name, Ref: ref, Digest: "sha256:" + hex.EncodeToString(sum[:]), Author: "Sidero Labs",
			Description: "Emulated entry of the extension " + name + ".",
		}
	}

	return list
}
