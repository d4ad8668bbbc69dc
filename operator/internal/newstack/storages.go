package newstack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/pve/hardware"
)

// Content types of storages.
const (
	contentISO      = "iso"
	contentImages   = "images"
	contentRootDir  = "rootdir"
	contentTemplate = "vztmpl"
	contentImport   = "import"
)

// folderType is the type of a storage that is a folder.
const folderType = "dir"

// installedStorage is the folder that the installer of Proxmox VE makes.
const installedStorage = "local"

// chooseStorages prefers storages that the hosts share, if there are both, since one template is then enough.
func (p *proposal) chooseStorages() {
	if len(p.Hosts) == 0 {
		return
	}
	isos, images := p.with(contentISO), p.with(contentImages)
	sharedISOs, sharedImages := p.sharedOf(isos), p.sharedOf(images)
	if len(p.Hosts) > 1 && len(sharedISOs) > 0 && len(sharedImages) > 0 && p.ISOStorage == "" && p.DiskStorage == "" {
		isos, images = sharedISOs, sharedImages
	}
	if p.ISOStorage == "" {
		p.ISOStorage = p.best(isos, contentISO)
	}
	if p.DiskStorage == "" {
		p.DiskStorage = p.best(images, contentImages)
	}
}

// with returns the active storages that all hosts have for a content type, sorted.
func (p *proposal) with(content string) []string {
	return p.common(func(host string) (names []string) {
		for _, storage := range p.site.Found.Hosts[host].Storages.Value {
			if bool(storage.Active) && takes(storage, content) {
				names = append(names, storage.Name)
			}
		}
		return names
	})
}

// both returns what is in both lists.
func both(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(name string) bool { return !slices.Contains(b, name) })
}

// union returns a list with commas and further items, each once.
func union(list string, further ...string) string {
	items := strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
	for _, item := range further {
		if !slices.Contains(items, item) {
			items = append(items, item)
		}
	}
	return strings.Join(items, ",")
}

func takes(storage pve.Storage, content string) bool {
	return slices.Contains(strings.Split(storage.Content, ","), content)
}

func (p *proposal) sharedOf(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !bool(p.storage(p.Hosts[0], name).Shared) })
}

// storage returns a storage of a host; the zero value if it has none of that name.
func (p *proposal) storage(host, name string) pve.Storage {
	for _, storage := range p.site.Found.Hosts[host].Storages.Value {
		if storage.Name == name {
			return storage
		}
	}
	return pve.Storage{}
}

// best returns the installer's folder if an ISO fits there, or else the storage with most room.
func (p *proposal) best(names []string, contents ...string) string {
	if len(names) == 0 {
		types := "type"
		if len(contents) > 1 {
			types = "types"
		}
		p.problem("%s no active storage for content %s %s that the token may see: %s", p.haveTogether(), types, strings.Join(contents, " and "), p.storageRemedy(contents))
		return ""
	}
	if slices.Contains(contents, contentISO) && slices.Contains(names, installedStorage) && p.freeGiB(installedStorage) >= hardware.ISOGiB {
		return installedStorage
	}
	return slices.MaxFunc(names, func(a, b string) int { return p.freeGiB(a) - p.freeGiB(b) })
}

// storageRemedy returns how a storage gets content types.
func (p *proposal) storageRemedy(contents []string) string {
	for _, storage := range p.site.Found.Hosts[p.Hosts[0]].Storages.Value {
		lacks := slices.ContainsFunc(contents, func(content string) bool { return !takes(storage, content) })
		if storage.Name == installedStorage && bool(storage.Active) && lacks {
			return fmt.Sprintf("as root on a host: `pvesm set %s --content %s`", installedStorage, union(storage.Content, contents...))
		}
	}
	return "add one in Proxmox VE (Datacenter, Storage), give the token the role that `em-infra role` prints, or name other hosts with --host"
}

// freeGiB returns the room on a storage of the host with least of it.
func (p *proposal) freeGiB(name string) int {
	least := int(p.storage(p.Hosts[0], name).AvailableBytes >> 30)
	for _, host := range p.Hosts[1:] {
		least = min(least, int(p.storage(host, name).AvailableBytes>>30))
	}
	return least
}

// sharesStorages reports whether several hosts share both storages.
func (p *proposal) sharesStorages() bool {
	if len(p.Hosts) < 2 {
		return false
	}
	return bool(p.storage(p.Hosts[0], p.ISOStorage).Shared) && bool(p.storage(p.Hosts[0], p.DiskStorage).Shared)
}
