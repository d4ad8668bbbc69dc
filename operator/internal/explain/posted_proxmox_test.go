package explain_test

var postedProxmox = map[string][]string{
	"already-running":  {`error waiting for VM start: task "UPID:vmhost:1:2:3:qmstart:103:em-infra@pve!x:" failed to complete with exit code: VM 103 already running`},
	"template-started": {`TASK ERROR: you can't start a vm if it's a template`},
	"systemd-slow":     {`TASK ERROR: timeout waiting on systemd`},
	"qmp-timeout": {
		`VM 100 qmp command 'query-version' failed - unable to connect to VM 100 qmp socket - timeout after 51 retries`,
		"TASK ERROR: VM 102 qmp command 'guest-ping' failed - unable to connect to VM 102 qga socket - timeout after 31 retries",
	},
	"qemu-too-old": {`TASK ERROR: Installed QEMU version '8.1.5' is too old to run machine type 'pc-q35-9.0+pve0', please upgrade node 'pve2'`},
	"clone-kind": {
		`500 Linked clone feature is not supported for drive 'scsi0'`,
		`Full clone feature is not supported for a snapshot of 'local-lvm:vm-9000-disk-0' (scsi0)`,
	},
	"base-in-use":   {`TASK ERROR: base volume 'local-zfs:base-9000-disk-0' is still in use by linked cloned`, `base volume 'base-9000-disk-0' is still in use by linked clones`},
	"volume-in-use": {`unable to delete 'tank:vm-102-disk-0' - volume is still in use (snapshot?)`},
	"unknown-property": {
		`Error: error updating VM: 400 Parameter verification failed., error status: {"data":null,"errors":{"pool":"property is not defined in schema and the schema does not allow additional properties"}} (params: map[agent:1 bios:seabios])`,
		`received an HTTP 400 response - Reason: Parameter verification failed. (overrule-shutdown: property is not defined in schema and the schema does not allow additional properties)`,
	},
	"method-absent":   {`received an HTTP 501 response - Reason: Method 'GET /cluster/mapping/pci' not implemented`, `501 Method 'GET /api2/json/version' not implemented`},
	"value-refused":   {`received an HTTP 400 response - Reason: Parameter verification failed. (name: invalid format - value does not look like a valid DNS name)`},
	"file-extension":  {`error initiating file download: received an HTTP 400 response - Reason: Parameter verification failed. (filename: invalid filename or wrong extension)`},
	"root-only-paths": {`error creating VM: 500 Only root can pass arbitrary filesystem paths. at /usr/share/perl5/PVE/Storage.pm line 541., error status: {"data":null}`},

	"group-not-viable": {
		"kvm: -device vfio-pci,host=0000:01:00.0,id=hostpci0,bus=ich9-pcie-port-1,addr=0x0: vfio 0000:01:00.0: group 1 is not viable\nPlease ensure all devices within the iommu_group are bound to their vfio bus driver.",
		`qemu-kvm: -device vfio-pci,host=0000:01:00.0: vfio error: 0000:01:00.0: group 14 is not viable`,
	},
	"vfio-bind":    {`TASK ERROR: Cannot bind 0000:01:00.0 to vfio`, `can't unbind/bind PCI group to VFIO '0000:01:00.0'`},
	"vfio-module":  {`TASK ERROR: Cannot find vfio-pci module!`},
	"device-twice": {`TASK ERROR: device '0000:01:00.0' assigned more than once`},
	"reset-skipped": {
		"error writing '1' to '/sys/bus/pci/devices/0000:c6:00.0/reset': Inappropriate ioctl for device\nfailed to reset PCI device '0000:c6:00.0', but trying to continue as not all devices need a reset",
	},
	"reset-hangs": {
		`[   87.412701] nvidia 0000:01:00.0: not ready 65535ms after resume; giving up`,
		`[ 498.270899] vfio-pci 0000:00:02.0: not ready 1023ms after FLR; waiting`,
	},
	"power-state":        {`[   87.473112] vfio-pci 0000:01:00.0: Unable to change power state from D3cold to D0, device inaccessible`},
	"console-holds-card": {`vfio-pci 0000:c3:00.0: BAR 0: can't reserve [mem 0x2800000000-0x2fffffffff 64bit pref]`},

	"hostname-lookup": {`"error":"500 hostname lookup 'proxmox' failed - failed to get address info for: proxmox: Name or service not known","interval":2.439072332`},
	"cluster-filesystem": {
		`ipcc_send_rec[1] failed: Connection refused`,
		`Unable to load access control list: ipcc_send_rec[4] failed: Transport endpoint is not connected`,
	},
	"host-address": {`Error: failed to find node endpoint: failed to determine the IP address of node "pve-1"`},
	"ssh-refused": {
		`Error: creating custom disk: unable to authenticate user "root" over SSH to "192.0.2.10:22". Please verify that ssh-agent is correctly loaded with an authorized key via 'ssh-add -L' (NOTE: configurations in ~/.ssh/config are not considered by the provider): failed to dial 192.0.2.10:22: ssh: handshake failed: REMOTE HOST IDENTIFICATION HAS CHANGED for host 192.0.2.10:22! This may indicate a MitM attack`,
		`Error: failed to open SSH client: failed to dial 192.0.2.10:22: ssh: handshake failed: ssh: unable to authenticate, attempted methods [none], no supported methods remain`,
	},
	"no-snippets":  {`Error: the datastore "local" does not support content type "snippets"; supported content types are: [backup iso vztmpl]`},
	"resize-lower": {`Error: disk resize fails requests size (8G) is lower than current size (10737418240)`},
}

var postedStorages = map[string][]string{
	"zfs-exists": {`unable to create VM 102 - zfs error: cannot create 'tank/vm-102-disk-0': dataset already exists`},
	"zfs-busy": {
		`cannot destroy 'tank/vm-121-disk-0': dataset is busy`,
		"cannot destroy 'DATA1/vm-121-state-test': dataset is busy\nTASK ERROR: command '/usr/bin/ssh -o 'BatchMode=yes' root@192.0.2.1 zfs destroy -r DATA1/vm-121-state-test' failed: exit code 1",
	},
	"thin-pool-full": {`lvcreate 'pve/vm-102-disk-0' error:   Cannot create new thin volume, free space in thin pool pve/data reached threshold.`},
	"thin-pool-absent": {
		`TASK ERROR: no such logical volume pve/data`,
		"root@vmhost:~# pvesm status\nno such logical volume pve/data\nName                Type     Status           Total            Used       Available        %\nlocal-lvm        lvmthin   inactive               0               0               0    0.00%",
	},
	"lvm-exists":          {`500 lvcreate 'pve/vm-111-disk-0' error:   Logical Volume "vm-111-disk-0" already exists in volume group "pve"`},
	"image-exists":        {`500 error during cfs-locked 'storage-nfs-dysk' operation: disk image '/mnt/pve/nfs-dysk/images/111/vm-111-disk-0.raw' already exists`},
	"storage-unreachable": {`unable to activate storage 'nas' - directory '/mnt/pve/nas' does not exist or is unreachable (500)`},
	"storage-not-mounted": {`unable to activate storage 'backup' - directory is expected to be a mount point but is not mounted: '/mnt/backup'`},
}
