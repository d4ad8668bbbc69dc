package explain

var downloads = []row{
	{
		name: "factory-unreached", speaker: proxmox, failure: "F17", source: "pve-manager API2/Nodes.pm, query_url_metadata; LWP::Protocol::http",
		pattern: saying(`invalid server response: '500 Can't connect to (?P<server>[^\s']+)[^']*'`),
		meaning: "the host does not reach {server}: its DNS, gateway, proxy or clock is wrong",
		do:      "try curl -I https://{server} on the host and mend its network settings, then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "image-absent", speaker: proxmox, failure: "F17", source: "pve-manager API2/Nodes.pm, query_url_metadata",
		pattern: saying(`invalid server response: '404[^']*'`),
		meaning: "the Image Factory has no such image: the version or an extension does not exist, or the factory forgot the schematic",
		do:      "`em-infra preflight` says which; correct talos.version or talos.schematic, then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "download-broke", speaker: proxmox, failure: "F16", source: "pve-common Tools.pm, download_file_from_url; wget(1), exit status",
		pattern: saying(`download failed: (?:command '[^']*wget[^']*' failed: )?exit code (?P<code>\d+)`),
		meaning: "the download of the ISO or image broke off (wget says {code}: 4 is the network, 5 a certificate, 8 the server)",
		do:      upAgain + "; if it stays so, try the URL with wget on the host",
		safe:    goesOn,
	},
	{
		name: "image-checksum", speaker: proxmox, source: "pve-common Tools.pm, download_file_from_url",
		pattern: saying(`checksum mismatch: got '(?P<got>[0-9a-f]+)' != expect '[0-9a-f]+'`),
		meaning: "the file at the URL is not the one whose checksum systems.yaml has: it was built anew, or something on the way changed it",
		do:      "name the URL of a dated build with the checksum of the publisher's list for exactly that file; then " + upAgain,
		safe:    "yes: the host has thrown the file away",
	},
	{
		name: "image-other-file", speaker: proxmox, source: "pve-common Tools.pm, download_file_from_url",
		pattern: saying(`mismatch \(got '[0-9a-f]*' != expect '[0-9a-f]+'\), aborting`),
		meaning: "the storage has another file of that name already, and none is overwritten",
		do:      "delete it in Proxmox VE if nothing needs it, or correct the checksum in systems.yaml; then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "image-vmid", speaker: program, source: "internal/pve/image.go, imageTemplate",
		pattern: saying(`VMID (?P<vmid>\d+) is (?P<guest>\S+) \((?:qemu|lxc)\) on \S+, which is not the template (?P<image>\S+) of this image`),
		meaning: "VMID {vmid} of the image {image} is that of {guest}, or its template was made from another file",
		do:      "give the image a free vmid in systems.yaml; then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "schematic-refused", speaker: "the Image Factory", failure: "F17", source: "image-factory internal/frontend/http; siderolabs/extensions",
		pattern: saying(`official extension "(?P<extension>[^"]+)" is not available for Talos version (?P<version>[\w.]+)`),
		meaning: "there is no {extension} for Talos {version}",
		do:      "correct talos.schematic.extensions, or choose another talos.version; then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "installer-absent", speaker: talos, failure: "F17", source: "containerd, remotes/docker/resolver.go",
		pattern: saying(`(?P<image>[\w./-]+installer[\w./-]*:v[\w.-]+): not found`),
		meaning: "the registry has no {image}",
		do:      "see that talos.version exists and that the nodes reach the factory's registry; then " + upAgain,
		safe:    "yes: the node stays on the system that it has",
	},
}
