package e2e_test

// Why faults cannot occur.
const (
	nothingCloned     = "nothing is cloned"
	nothingMade       = "no machine is made"
	nothingAllocated  = "no volume is allocated"
	nothingMoved      = "no disk changes its storage"
	nothingStarted    = "no machine is started"
	nothingDownloaded = "nothing is downloaded"
	nothingConfigured = "no machine's configuration is changed"
	nothingInstalled  = "Talos is installed on no machine"
	nothingShutDown   = "no machine is shut down by its power button"
	nothingBoots      = "no machine boots"
	nothingBootstraps = "etcd is there"
	noGPU             = "no machine that is started has a device of its host"
	noNetworkReload   = "em-infra changes no network of a host"
	noAgentAsked      = "no run asks a guest agent"
	noLearner         = "no member joins etcd"
	nothingUpgraded   = "no node gets another release of Talos"
	noEventsFollowed  = "nobody follows the events of a node"
	noNAS             = "the inventory has no storage on a NAS"
	noStorageAdded    = "no storage is added to Proxmox VE"
)

// The messages of a run about an etcd that has an alarm.
const (
	fullEtcd    = "nothing was touched, because etcd has reached the quota of its database and takes no writes: `em-infra etcd defragment"
	corruptEtcd = "nothing was touched, because the data of etcd on k3s-dev-control-1 differ from those of the others: there is no other member with its data: find a snapshot"
)

// faultTable has each fault of the lab.
var faultTable = []faultRow{
	{"config-lock-timeout", course{once: bears(), lasting: stops("can't lock file '/var/lock/qemu-server/lock-10")}, never(nothingConfigured), course{once: bears(), lasting: stops("can't lock file '/var/lock/qemu-server/lock-10")}},
	{"template-missing", course{once: bears(), lasting: stops("the template is not on its host any more")}, never(nothingCloned), never(nothingCloned)},
	{"vmid-taken", both(stops("VM 9000 already exists on node 'vmhost'")), never(nothingMade), never(nothingMade)},
	{"no-worker", course{once: bears(), lasting: stops("the host could not start a task")}, course{once: bears(), lasting: stops("the host could not start a task")}, never(nothingStarted)},
	{"task-lost", both(stops("the host has forgotten a task that it began")), course{once: bears(), lasting: stops("takes longer than the provider waits")}, course{once: bears(), lasting: stops("takes longer than the provider waits")}},
	{"unauthorized", both(refused("refuses the token")), both(refused("refuses the token")), both(refused("refuses the token"))},
	{"forbidden", both(refused("refuses the token")), both(refused("refuses the token")), both(refused("refuses the token"))},
	{"unreachable", course{once: bears(), lasting: refused("cannot be read (596 Connection timed out)")}, course{once: bears(), lasting: refused("cannot be read (596 Connection timed out)")}, course{once: bears(), lasting: refused("cannot be read (596 Connection timed out)")}},
	{"storage-inactive", never(noStorageAdded), never(noStorageAdded), never(noStorageAdded)},
	{"answer-lost", both(stops("cannot download")), both(bears()), both(stops("does not answer: it is off, restarts, or is elsewhere"))},
	{"host-reboots", both(refused("proxmox VE does not answer at ")), both(refused("proxmox VE does not answer at ")), both(refused("proxmox VE does not answer at "))},
	{"storage-lock-timeout", both(stops("can't lock file '/var/lock/pve-manager/pve-storage-tank'")), never(nothingAllocated), both(stops("can't lock file '/var/lock/pve-manager/pve-storage-other'").with(movesADisk))},
	{"storage-full", course{once: stops("out of space").inEachBuild(), lasting: stops("out of space")}, never(nothingAllocated), both(stops("out of space").with(movesADisk))},
	{"clone-fails", course{once: bears().inEachBuild(), lasting: stops("'mirror' has been cancelled")}, never(nothingCloned), never(nothingCloned)},
	{"move-disk-fails", never(nothingMoved), never(nothingMoved), both(stops("a disk could not be copied to the other storage").with(movesADisk))},
	{"clone-hangs", course{once: bears().answeredBy(stopsTheTasks), lasting: stops("was stopped, with `em-infra task stop`").answeredBy(stopsTheTasks)}, never(nothingCloned), never(nothingCloned)},
	{"lock-lingers", both(bears()), never(nothingCloned), never(nothingCloned)},
	{"status-lags", both(bears()), never(nothingStarted), both(bears())},
	{"start-fails", both(stops("start failed: QEMU exited with code 1")), never(nothingStarted), both(stops("because its machine stays off"))},
	{"disk-gone", both(stops("the storage does not have vm-10")), never(nothingStarted), both(stops("because its machine stays off"))},
	{"gpu-in-use", both(stops("already in use by VMID '999'").with(withAGPU)), never(nothingStarted), never(noGPU)},
	{"shutdown-ignored", never(nothingShutDown), never(nothingShutDown), both(stops("the machine did not react to its power button"))},
	{"download-fails", both(stops("the download of the ISO or image broke off")), never(nothingDownloaded), never(nothingDownloaded)},
	{"slow-reload", never(noNetworkReload), never(noNetworkReload), never(noNetworkReload)},
	{"reload-fails", never(noNetworkReload), never(noNetworkReload), never(noNetworkReload)},

	{"node-does-not-boot", both(stops("nothing answers at")), never(nothingBoots), both(stops("nothing answers at").mendedBy(resetsTheSilentMachines))},
	{"node-of-another-cluster", both(stops("a node of another cluster, or another server, answers at its address").mendedBy(deletesTheMachine)), never(nothingInstalled), never(nothingInstalled)},
	{"never-leaves-maintenance", both(stops("has been in maintenance mode for").mendedBy(resetsTheMachines)), never(nothingInstalled), never(nothingInstalled)},
	{"apply-hangs", both(stops("it hangs")), never(nothingConfigured), course{once: bears(), lasting: stops("whether its configuration reboots it is not known (its Talos API does not answer): look at the console of its VM in Proxmox VE, reset the VM if it hangs, then run up again")}},
	{"install-fails", both(stops("its installation")), never(nothingInstalled), never(nothingInstalled)},
	{"certificate-withheld", course{once: bears(), lasting: stops("nothing answers at")}, never(nothingBoots), course{once: bears(), lasting: stops("nothing answers at")}},
	{"node-certificate-expired", course{once: bears(), lasting: stops("has expired or is not yet valid")}, never(nothingBoots), course{once: bears(), lasting: stops("is not valid at this time")}},
	{"client-certificate-expired", course{once: bears(), lasting: stops("a certificate is not valid at this time")}, course{once: bears(), lasting: stops("is not valid at this time")}, course{once: bears(), lasting: stops("is not valid at this time")}},
	{"time-not-in-sync", course{once: bears(), lasting: stops("time is not in sync yet")}, never(nothingBootstraps), never(nothingBootstraps)},
	{"bootstrap-answer-lost", course{once: stops("etcd is bootstrapped already"), lasting: stops("the connection broke before its answer")}, never(nothingBootstraps), never(nothingBootstraps)},
	{"etcd-learner-stuck", course{once: bears().with(threeControlPlanes), lasting: stops("its etcd member is a learner").with(threeControlPlanes).mendedBy(joinsAnew)}, never(noLearner), never(noLearner)},
	{"etcd-out-of-space", both(stops("etcd has reached the quota of its database").mendedBy(freesTheDatabases)), both(refused(fullEtcd).mendedBy(freesTheDatabases)), both(refused(fullEtcd).mendedBy(freesTheDatabases))},
	{"etcd-corrupt", both(stops("etcd has found corrupt data").at("--vm", "k3s-dev-control-2").with(threeControlPlanes).mendedBy(joinsWithoutItsData)), both(refused(corruptEtcd).with(keepsASnapshot).mendedBy(putsTheSnapshotBack)), both(refused(corruptEtcd).with(keepsASnapshot).mendedBy(putsTheSnapshotBack))},
	{"api-server-late", both(bears()), never(nothingBoots), both(bears())},
	{"talos-api-unavailable", course{once: bears(), lasting: stops("nothing answers there")}, course{once: bears(), lasting: stops("no control plane answers")}, course{once: bears(), lasting: stops("the cluster cannot do without it now")}},
	{"guest-agent-silent", never(noAgentAsked), never(noAgentAsked), never(noAgentAsked)},
	{"pull-slow", never(nothingUpgraded), never(nothingUpgraded), never(nothingUpgraded)},
	{"image-refused", never(nothingUpgraded), never(nothingUpgraded), never(nothingUpgraded)},
	{"registry-unreachable", never(nothingUpgraded), never(nothingUpgraded), never(nothingUpgraded)},
	{"pull-without-room", never(nothingUpgraded), never(nothingUpgraded), never(nothingUpgraded)},
	{"ephemeral-full", never(nothingUpgraded), never(nothingUpgraded), never(nothingUpgraded)},
	{"etcd-upgrade-locked", never(nothingUpgraded), never(nothingUpgraded), never(nothingUpgraded)},
	{"upgrade-hangs", never(nothingUpgraded), never(nothingUpgraded), never(nothingUpgraded)},
	{"upgrade-fails", never(nothingUpgraded), never(nothingUpgraded), never(nothingUpgraded)},
	{"upgrade-reverted", never(nothingUpgraded), never(nothingUpgraded), never(nothingUpgraded)},
	{"events-lost", never(noEventsFollowed), never(noEventsFollowed), never(noEventsFollowed)},
	{"factory-unavailable", both(refused("the host does not meet the requirements yet")), both(bears()), both(bears())},
	{"nas-connection-cut", never(noNAS), never(noNAS), never(noNAS)},
	{"nas-too-many-calls", never(noNAS), never(noNAS), never(noNAS)},
	{"nas-login-rate-limit", never(noNAS), never(noNAS), never(noNAS)},
	{"nas-wrong-key", never(noNAS), never(noNAS), never(noNAS)},
	{"nas-key-expired", never(noNAS), never(noNAS), never(noNAS)},
	{"nas-dataset-locked", never(noNAS), never(noNAS), never(noNAS)},
	{"nas-pool-full", never(noNAS), never(noNAS), never(noNAS)},
	{"nas-dataset-busy", never(noNAS), never(noNAS), never(noNAS)},
	{"nas-job-failed", never(noNAS), never(noNAS), never(noNAS)},
	{"nas-service-does-not-start", never(noNAS), never(noNAS), never(noNAS)},
	{"nas-only-rest", never(noNAS), never(noNAS), never(noNAS)},
	{"nas-off", never(noNAS), never(noNAS), never(noNAS)},
}

// movesADisk moves the worker's disk to the other one of two storages.
func movesADisk(r *rehearsal) {
	r.edit("nodes.yaml", "    vmid: 102\n", "    vmid: 102\n    diskStorage: other\n")
}

// withAGPU adds a worker with a GPU.
func withAGPU(r *rehearsal) {
	r.addNode(`{name: k3s-dev-gpu-1, vmid: 114, address: 192.168.20.24, role: gpu-worker, gpus: [{bdf: "0000:01:00.0", deviceId: "10de:2204", subsystemId: "1462:3881", iommuGroup: 14}]}`)
}

// threeControlPlanes adds two control planes.
func threeControlPlanes(r *rehearsal) {
	r.addNode("{name: k3s-dev-control-2, role: control-plane, vmid: 103, address: 192.168.20.12}")
	r.addNode("{name: k3s-dev-control-3, role: control-plane, vmid: 104, address: 192.168.20.13}")
}
