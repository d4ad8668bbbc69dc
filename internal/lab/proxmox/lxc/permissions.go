package lxc

import (
	"regexp"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/vmconfig"
)

// change is a change of settings by a caller.
type change struct {
	identity string
	node     string
	vmid     int
	pool     string
	// old are the current settings, nil for a new container.
	old          *vmconfig.Config
	unprivileged bool
}

// denied is the refusal of a setting with Proxmox VE's text.
func denied(text string) error { return &access.Refusal{Detail: text} }

// check requires what a caller needs to change settings, or to remove them (pve-container LXC.pm, check_ct_modify_config_perm).
func (s *Service) check(ch change, given schema.Params, remove []string) error {
	if ch.identity == access.Root {
		return nil
	}

	for _, key := range given.Names() {
		if err := s.checkSetting(ch, key, given.Get(key), false); err != nil {
			return err
		}
	}

	for _, key := range remove {
		if err := s.checkSetting(ch, key, "", true); err != nil {
			return err
		}
	}

	return nil
}

func (s *Service) checkSetting(ch change, key, value string, remove bool) error {
	needs := func(privilege string) error {
		return s.parts.Permissions.CheckVM(ch.identity, ch.vmid, ch.pool, false, privilege)
	}

	switch {
	case key == "cores" || key == "cpuunits" || key == "cpulimit":
		return needs("VM.Config.CPU")
	case key == "memory" || key == "swap":
		return needs("VM.Config.Memory")
	case mountKey.MatchString(key):
		if err := needs("VM.Config.Disk"); err != nil || remove {
			return err
		}

		return s.checkMount(ch, key, value)
	case vmconfig.IsNetwork(key):
		if err := needs("VM.Config.Network"); err != nil {
			return err
		}

		return s.checkBridges(ch, key, value)
	case deviceKey.MatchString(key):
		return denied("configuring device passthrough is only allowed for root@pam")
	case key == "nameserver" || key == "searchdomain" || key == "hostname":
		return needs("VM.Config.Network")
	case key == "features":
		return s.checkFeatures(ch, value)
	case key == "hookscript":
		return denied("changing the hookscript is only allowed for root@pam")
	default:
		return needs("VM.Config.Options")
	}
}

// newVolume matches a request for a new volume (pve-container LXC.pm, NEW_DISK_RE).
var newVolume = regexp.MustCompile(`^([^:\s]+):(\d+(?:\.\d+)?)$`)

func (s *Service) checkMount(ch change, key, value string) error {
	values, err := s.parse(key, value)
	if err != nil {
		return err
	}

	volume := values["volume"]
	if strings.HasPrefix(volume, "/") {
		kind := "bind"
		if strings.HasPrefix(volume, "/dev/") {
			kind = "device"
		}

		return denied("mount point type " + kind + " is only allowed for root@pam")
	}

	if asked := newVolume.FindStringSubmatch(volume); asked != nil {
		return s.parts.Permissions.Check(ch.identity, "/storage/"+asked[1], false, "Datastore.AllocateSpace")
	}

	return s.parts.Storages.CheckVolume(ch.identity, ch.node, ch.vmid, volume)
}

// checkBridges requires the right to use the bridges of a network card, the old one and the new one (check_bridge_access).
func (s *Service) checkBridges(ch change, key, value string) error {
	cards := []string{value}
	if ch.old != nil {
		cards = append(cards, ch.old.Get(key))
	}

	for _, text := range cards {
		if text == "" {
			continue
		}

		card, err := s.parse(key, text)
		if err != nil {
			return err
		}

		path := "/sdn/zones/localnetwork/" + card["bridge"]
		if card["tag"] != "" {
			path += "/" + card["tag"]
		}

		if err := s.parts.Permissions.Check(ch.identity, path, false, "SDN.Use"); err != nil {
			return err
		}
	}

	return nil
}

// checkFeatures allows a caller other than root to change nesting only, and only of an unprivileged container. A new container
// may name nesting alone.
func (s *Service) checkFeatures(ch change, value string) error {
	if !ch.unprivileged {
		return denied("changing feature flags for privileged container is only allowed for root@pam")
	}

	given, err := s.parse("features", value)
	if err != nil {
		return err
	}

	former := schema.Properties{}

	if ch.old != nil && ch.old.Get("features") != "" {
		if former, err = s.parse("features", ch.old.Get("features")); err != nil {
			return err
		}
	}

	for _, feature := range []string{"force_rw_sys", "fuse", "keyctl", "mknod", "mount"} {
		_, named := given[feature]
		if former[feature] != given[feature] || len(former) == 0 && named {
			return denied("changing feature flags (except nesting) is only allowed for root@pam")
		}
	}

	if former["nesting"] == given["nesting"] {
		return nil
	}

	return s.parts.Permissions.CheckVM(ch.identity, ch.vmid, ch.pool, false, "VM.Allocate")
}
