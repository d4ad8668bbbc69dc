package explain

import "regexp"

// Place is a source of information about an unknown error.
type Place struct {
	// Where is a page or a command.
	Where string
	// For describes what it shows.
	For string
}

// places are specific to one upstream, which is recognized by words in the text.
var places = []struct {
	words *regexp.Regexp
	Place
}{
	{
		regexp.MustCompile(`(?i)\b(?:proxmox|pve\w*|qemu|qm\w*|kvm|upid|zfs|lvm|lv\w+|zpool|vfio|iommu|vmbr\d+|hostpci\d*|corosync)\b`),
		Place{"journalctl -b -p warning on the host, and the task's log in Proxmox VE", "what the host did"},
	},
	{
		regexp.MustCompile(`(?i)\b(?:talos\w*|machined|apid|trustd|etcd\w*|maintenance|installer|nvrm|nvidia|nvml)\b`),
		Place{"talosctl -n ADDRESS dmesg, and the node's console in Proxmox VE", "what the node did"},
	},
	{
		regexp.MustCompile(`(?i)\b(?:pods?|kube\w*|kubectl|namespaces?|deployments?|daemonsets?|containerd|helm|charts?|cilium|flannel|coredns|webhooks?|serviceaccounts?)\b`),
		Place{"kubectl get events -A --sort-by=.lastTimestamp", "what the cluster did"},
	},
	{
		regexp.MustCompile(`(?i)\b(?:flux|kustomiz\w+|helmrelease|gitrepository|sops|age)\b`),
		Place{"flux get all -A, and flux logs --level=error", "what Flux waits for"},
	},
	{
		regexp.MustCompile(`(?i)\b(?:pulumi|urn|stack|checkpoint|snapshot|plugin|provider|grpc|rpc)\b`),
		Place{"`em-infra state list`", "the state and its backups"},
	},
}

// always are the places that help with every error.
var always = []Place{
	{"docs/errors.md", "every error that is known"},
	{"docs/failures.md", "what this project is built against"},
	{"`em-infra preflight`", "whether the host can bear the inventory"},
	{"`em-infra status`", "what stands, and what of it is not well"},
	{"`em-infra rehearse`", "whether the same inventory comes up on a lab, which has no host of yours"},
}

// Places returns the places for a text: first the specific ones.
func Places(raw string) []Place {
	var found []Place
	for _, place := range places {
		if place.words.MatchString(raw) {
			found = append(found, place.Place)
		}
	}
	return append(found, always...)
}
