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
