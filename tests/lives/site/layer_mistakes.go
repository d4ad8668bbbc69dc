package site

import "strings"

// WrongFile is a file of a layer with a mistake.
type WrongFile struct {
	Layer Layer
	Text  string
	// Made is false where the mistake makes no sense.
	Made bool
}

// LayerMistakes are edits of the layers that must be refused, with nothing touched.
var LayerMistakes = map[string]func(s Site) (WrongFile, error){
	"hosts-unknown-key":       inFile(HostsLayer, `"backupJobs"`, `"backupsJobs"`),
	"hosts-vlan-of-nothing":   inFile(HostsLayer, `"device": "vmbr1"`, `"device": "vmbr8"`),
	"hosts-storage-twice":     inFile(HostsLayer, `"name": "nas"`, `"name": "local"`),
	"hosts-way-to-the-api":    inFile(HostsLayer, `"bridges": [`, `"bridges": [{"name": "vmbr0", "ports": ["eno1"], "address": "192.168.20.10/24", "gateway": "192.168.20.1", "comment": "mine"},`),
	"hosts-lock-out":          inFile(HostsLayer, `"storages": [`, `"access": {"users": [{"id": "em-infra@pve", "enabled": false}]}, "storages": [`),
	"systems-unknown-key":     inFile(SystemsLayer, `"memoryMiB"`, `"memoryMib"`),
	"systems-disk-shrinks":    inSystems(func(items []System) { items[0].DiskGiB = 4 }),
	"systems-vmid-twice":      inSystems(func(items []System) { items[len(items)-1].VMID = imageVMID }),
	"systems-vmid-of-cluster": ofCluster(inSystems(func(items []System) { items[0].VMID = firstTemplate })),
	"systems-replaced":        inSystems(func(items []System) { renumberSystem(&items[0], 0) }),
	"systems-renamed":         inSystems(func(items []System) { items[0].Name = strings.Replace(items[0].Name, "-", "-9", 1) }),
}

// fileOf returns the file of a layer beside the cluster.
func (l Layers) fileOf(layer Layer) (string, error) {
	if layer == HostsLayer {
		return l.HostsFile()
	}
	return l.SystemsFile()
}

func inFile(layer Layer, old, replacement string) func(Site) (WrongFile, error) {
	return func(s Site) (WrongFile, error) {
		text, err := s.Layers.fileOf(layer)
		wrong := strings.Replace(text, old, replacement, 1)
		if strings.Contains(replacement, `"access"`) && len(s.Layers.Hosts.Users) > 0 {
			wrong = text // the file has access already
		}
		return WrongFile{layer, wrong, wrong != text}, err
	}
}

func inSystems(change func(items []System)) func(Site) (WrongFile, error) {
	return func(s Site) (WrongFile, error) {
		if len(s.Layers.Systems.Items) == 0 {
			return WrongFile{Layer: SystemsLayer}, nil
		}
		wrong := s.Layers.clone()
		change(wrong.Systems.Items)
		text, err := wrong.SystemsFile()
		return WrongFile{SystemsLayer, text, true}, err
	}
}

// ofCluster is a mistake only beside a cluster.
func ofCluster(mistake func(Site) (WrongFile, error)) func(Site) (WrongFile, error) {
	return func(s Site) (WrongFile, error) {
		wrong, err := mistake(s)
		wrong.Made = wrong.Made && s.HasCluster()
		return wrong, err
	}
}
