package site

import "fmt"

// object is a mapping of an inventory.
type object = map[string]any

// HostsFile is hosts.yaml.
func (l Layers) HostsFile() (string, error) { return file(l.Hosts.file()) }

func (h Hosts) file() object {
	vlans := []object{}
	for _, tag := range h.VLANs {
		vlans = append(vlans, object{"device": "vmbr1", "tag": tag, "address": fmt.Sprintf("10.%d.0.10/24", tag)})
	}
	content := object{
		"apiVersion": version, "kind": "Hosts", "name": "site",
		"hosts": []object{{
			"name": Host(1), "timeZone": h.TimeZone,
			"network": object{
				"bridges": []object{{"name": "vmbr1", "ports": []string{"eno2"}, "mtu": h.MTU, "comment": h.Comment}},
				"vlans":   vlans,
			},
		}},
		"storages":   h.storages(),
		"options":    object{"keyboard": h.Keyboard},
		"pools":      objects("name", h.PoolNames()),
		"backupJobs": []object{{"name": "nightly", "schedule": h.Schedule(), "storage": "nas", "all": true, "keep": object{"last": 3}}},
	}
	if len(h.Users) > 0 {
		content["access"] = object{"users": h.users()}
	}
	return content
}

func (h Hosts) storages() []object {
	all := []object{
		{"name": "local", "type": "dir", "path": "/var/lib/vz", "content": []string{"iso", "vztmpl", "import"}},
		{"name": "nas", "type": "nfs", "server": "10.30.0.5", "export": "/mnt/tank/proxmox", "content": h.Content},
	}
	for _, number := range h.Shares {
		all = append(all, object{
			"name": storageName(number), "type": "nfs", "server": "10.30.0.5", "export": fmt.Sprintf("/mnt/tank/%d", number), "content": []string{"iso"},
		})
	}
	return all
}

func (h Hosts) users() []object {
	permissions := []object{{"path": "/vms", "role": "PVEAuditor"}}
	all := []object{}
	for _, name := range h.UserNames() {
		all = append(all, object{"id": name, "permissions": permissions, "tokens": []object{{"name": "life", "permissions": permissions}}})
	}
	return all
}

func objects(key string, values []string) []object {
	all := []object{}
	for _, value := range values {
		all = append(all, object{key: value})
	}
	return all
}

// SystemsFile is systems.yaml.
func (l Layers) SystemsFile() (string, error) { return file(l.Systems.file()) }

func (s Systems) file() object {
	machines, containers := []object{}, []object{}
	for _, one := range s.Items {
		if one.IsContainer() {
			containers = append(containers, one.file("template", 120))
		} else {
			machines = append(machines, one.file("image", 100))
		}
	}
	content := object{
		"apiVersion": version, "kind": "Systems", "name": "systems",
		"proxmox": object{"host": Host(1), "diskStorage": "local-lvm", "tags": []string{"site"}},
		"network": object{"bridge": "vmbr0", "gateway": "192.168.20.1"},
		"images": []object{{
			"name": "debian", "vmid": imageVMID, "url": "https://cloud.example/debian.qcow2", "checksum": "sha256:" + fmt.Sprintf("%064x", 13),
		}},
		"containerTemplates": []object{{
			"name": "debian", "url": "http://templates.example/debian-13-standard_13.1-2_amd64.tar.zst", "checksum": "sha256:" + fmt.Sprintf("%064x", 17), "osType": "debian",
		}},
		"virtualMachines": machines, "containers": containers,
	}
	if s.Keep > 0 {
		content["snapshots"] = object{"keep": s.Keep}
	}
	return content
}

// file returns the item of the file. Addresses follow from the number in the name.
func (s System) file(madeFrom string, addresses int) object {
	item := object{
		"name": s.Name, "vmid": s.VMID, madeFrom: "debian", "cores": s.Cores, "memoryMiB": s.MemoryMiB, "diskGiB": s.DiskGiB,
		"networks": []object{{"address": fmt.Sprintf("192.168.20.%d/24", addresses+numberOf(s.Name))}},
	}
	if s.Tag != "" {
		item["tags"] = []string{s.Tag}
	}
	return item
}

// file is `storage:` of cluster.yaml.
func (s Storage) file() object {
	datasets := []object{}
	for _, one := range s.Datasets {
		item := object{"name": one.Name}
		if one.QuotaGiB > 0 {
			item["quotaGiB"] = one.QuotaGiB
		}
		if one.Compression != "" {
			item["compression"] = one.Compression
		}
		if one.Shared {
			item["nfs"] = object{}
		}
		datasets = append(datasets, item)
	}
	return object{"endpoint": "https://nas.example", "pool": "tank", "protect": s.Protect, "datasets": datasets}
}
