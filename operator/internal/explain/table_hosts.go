package explain

var hosts = []row{
	{
		name: "no-quorum", speaker: proxmox, source: "pve-cluster Cluster.pm, check_cfs_quorum",
		pattern: saying(`cluster not ready - no quorum\?`),
		meaning: "too few hosts of the Proxmox VE cluster see each other, so that none may change anything",
		do:      "start the other hosts, or see `pvecm status`; then " + upAgain,
		safe:    "yes; do not force it with `pvecm expected` while the other half may be alive",
	},
	{
		name: "host-away", speaker: proxmox, source: "pve-http-server AnyEvent.pm, proxy_request: 595 and 596 of AnyEvent::HTTP",
		pattern: saying(`\b59[56][ :][^"\n]*(?:No route to host|Connection refused|Connection timed out|Broken pipe|tls_process_server_certificate)`),
		meaning: "the host that was asked could not reach the one that the machine stands on",
		do:      "start that host or see its network (`em-infra preflight` names it), then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "api-certificate", speaker: "the connection to Proxmox", source: "crypto/x509",
		pattern: saying(`"https://(?P<host>[^"/]+)/api2/json[^"]*": (?:tls: failed to verify certificate: )?x509: (?P<why>[^\n]+)`),
		meaning: "the certificate of {host} is not trusted ({why})",
		do:      "give the host a certificate that is, or run `pulumi config set --stack STACK em-infra:proxmoxInsecure true`",
		safe:    notTouched,
	},
	{
		name: "api-away", speaker: "the connection to Proxmox", source: "net, net/http",
		pattern: saying(`"https://(?P<host>[^"/]+)/api2/json[^"]*": (?:dial tcp[^\n]*|EOF|[^\n]*(?:connection reset by peer|Client\.Timeout exceeded|i/o timeout)[^\n]*)`),
		meaning: "Proxmox VE at {host} does not answer: it is off, restarts, or is elsewhere",
		do:      "see that it answers (`em-infra preflight`), then " + upAgain,
		safe:    "yes: what was begun is found and finished",
	},
	{
		name: "bridge-absent", speaker: proxmox, source: "pve-common Network.pm, read_bridge_mtu",
		pattern: saying(`bridge '(?P<bridge>[^']+)' does not exist`),
		meaning: "the host has no bridge {bridge}",
		do:      "make it under System, Network and apply the configuration, or correct bridge in the inventory; then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "bridge-portless", speaker: proxmox, source: "pve-common Network.pm, activate_bridge_vlan",
		pattern: saying(`no physical interface on bridge '(?P<bridge>[^']+)'`),
		meaning: "{bridge} is not VLAN-aware and has no port, so that it cannot carry a VLAN",
		do:      "set bridge-vlan-aware yes for it in /etc/network/interfaces and run ifreload -a, then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "mtu-too-big", speaker: proxmox, source: "qemu-server QemuServer.pm, print_netdevice_full",
		pattern: saying(`MTU '(?P<mtu>\d+)' is bigger than the bridge MTU '(?P<bridge>\d+)'`),
		meaning: "mtu in the inventory is {mtu}, that of the bridge {bridge}",
		do:      "set mtu to {bridge} or less, or raise that of the bridge and its ports; then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "reload-failed", speaker: proxmox, source: "ifupdown2; bpg proxmox/nodes/network.go",
		pattern: saying(`command 'ifreload -a' failed: exit code 89`),
		meaning: "another reload of the host's network was going on",
		do:      upAgain,
		safe:    goesOn,
	},
	{
		name: "pool-absent", speaker: proxmox, source: "pve-access-control RPCEnvironment.pm, check_pool_exist",
		pattern: saying(`pool '(?P<pool>[^']+)' does not exist`),
		meaning: "Proxmox VE has no pool {pool}",
		do:      "`pveum pool add {pool}` as root on the host, or remove proxmox.pool; then " + upAgain,
		safe:    notTouched,
	},
}

// hostServices contains the errors of the host's own services when one of them does not run.
var hostServices = []row{
	{
		name: "hostname-lookup", speaker: proxmox, source: "pve-common Network.pm, get_ip_from_hostname; siderolabs/omni-infra-provider-proxmox#49",
		pattern: saying(`hostname lookup '(?P<host>[^']+)' failed - `),
		meaning: "the host that was asked does not know {host}: its name is not in /etc/hosts, or proxmox.host is not a node's name",
		do:      "correct proxmox.host or the node's host (`em-infra preflight` lists them), or name {host} with its address in /etc/hosts of every host; then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "cluster-filesystem", speaker: proxmox, source: "pve-cluster Cluster.pm, ipcc_send_rec; jiangcuo/Proxmox-Arm64#8",
		pattern: saying(`ipcc_send_rec\[\d+\] failed: (?P<why>[^\n"\\]+)`),
		meaning: "pmxcfs, which holds /etc/pve, does not run on the host ({why})",
		do:      "systemctl status pve-cluster and journalctl -u pve-cluster on the host; most often its name has another address in /etc/hosts than the host has; then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "host-address", speaker: provider, source: "bpg proxmox/ssh and proxmox/nodes; bpg/terraform-provider-proxmox#126",
		pattern: saying(`failed to determine the IP address of (?:node )?"?(?P<host>[^"\s]+)"?`),
		meaning: "the provider looks for an address of {host} to reach it by SSH, which nothing of em-infra does",
		do:      "take the resource that uploads a file out of your own program, or give your provider an ssh block; `em-infra preflight` shows what the host answers",
		safe:    notTouched,
	},
	{
		name: "ssh-refused", speaker: provider, failure: "F15", source: "bpg proxmox/ssh/client.go; bpg/terraform-provider-proxmox#1638, bpg/terraform-provider-proxmox#1005",
		pattern: saying(`unable to authenticate user "(?P<user>[^"]*)" over SSH to|failed to open SSH client: failed to dial`),
		meaning: "the provider wants SSH, for a snippet or the import of an image; nothing of em-infra needs it",
		do:      "take that resource out of your own program, or load a key with ssh-add and give your provider an ssh block",
		safe:    notTouched,
	},
	{
		name: "no-snippets", speaker: provider, failure: "F15", source: "bpg proxmoxtf/resource/file.go; bpg/terraform-provider-proxmox#1540",
		pattern: saying(`the datastore "(?P<storage>[^"]+)" does not support content type "(?P<content>[^"]+)"`),
		meaning: "storage {storage} takes no {content} files, which nothing of em-infra needs but ISOs and disk images",
		do:      "allow it {content} under Datacenter, Storage, or take that resource out of your own program; then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "resize-lower", speaker: provider, failure: "F21", source: "bpg proxmoxtf/resource/vm/disk/disk.go, CreateClone",
		pattern: saying(`disk resize fails requests size \((?P<wanted>\d+)G\) is lower than current size \((?P<has>\d+)\)`),
		meaning: "the disk of the template has {has} bytes, and that of a clone can only grow, so not to {wanted} GiB",
		do:      "set diskGiB in the inventory to those bytes divided by 1073741824, rounded up, or to more (`em-infra preflight` says how much), then " + upAgain,
		safe:    "yes: the clone was never started",
	},
}
