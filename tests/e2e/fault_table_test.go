package e2e_test

// Why faults cannot strike.
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
)

// faultTable has each fault of the lab.
var faultTable = []faultRow{
	{"config-lock-timeout", course{once: bears(), lasting: stops("can't lock file '/var/lock/qemu-server/lock-10")}, never(nothingConfigured), both(untried())},
	{"template-missing", both(untried()), never(nothingCloned), never(nothingCloned)},
	{"vmid-taken", both(untried()), never(nothingMade), never(nothingMade)},
	{"no-worker", both(untried()), both(untried()), never(nothingStarted)},
	{"task-lost", both(untried()), both(untried()), both(untried())},
	{"unauthorized", both(untried()), both(untried()), both(untried())},
	{"forbidden", both(untried()), both(untried()), both(untried())},
	{"unreachable", both(untried()), both(untried()), both(untried())},
	{"answer-lost", both(untried()), both(untried()), both(untried())},
	{"host-reboots", both(refused("proxmox VE does not answer at ")), both(untried()), both(untried())},
	{"storage-lock-timeout", both(untried()), never(nothingAllocated), both(untried().with(movesADisk))},
	{"storage-full", course{once: stops("out of space").inEachBuild(), lasting: stops("out of space")}, never(nothingAllocated), both(untried().with(movesADisk))},
	{"clone-fails", course{once: bears().inEachBuild(), lasting: stops("'mirror' has been cancelled")}, never(nothingCloned), never(nothingCloned)},
	{"move-disk-fails", never(nothingMoved), never(nothingMoved), both(untried().with(movesADisk))},
	{"clone-hangs", both(untried()), never(nothingCloned), never(nothingCloned)},
	{"lock-lingers", both(untried()), never(nothingCloned), never(nothingCloned)},
	{"status-lags", both(untried()), never(nothingStarted), both(untried())},
	{"start-fails", both(untried()), never(nothingStarted), both(untried())},
	{"gpu-in-use", both(untried().with(withAGPU)), never(nothingStarted), never(noGPU)},
	{"shutdown-ignored", never(nothingShutDown), never(nothingShutDown), both(untried())},
	{"download-fails", both(untried()), never(nothingDownloaded), never(nothingDownloaded)},
	{"slow-reload", never(noNetworkReload), never(noNetworkReload), never(noNetworkReload)},

	{"node-does-not-boot", both(untried()), never(nothingBoots), both(untried())},
	{"node-of-another-cluster", both(untried()), never(nothingInstalled), never(nothingInstalled)},
	{"never-leaves-maintenance", both(untried()), never(nothingInstalled), never(nothingInstalled)},
	{"apply-hangs", both(untried()), never(nothingConfigured), both(untried())},
	{"install-fails", both(untried()), never(nothingInstalled), never(nothingInstalled)},
	{"certificate-withheld", both(untried()), never(nothingBoots), both(untried())},
	{"node-certificate-expired", both(untried()), never(nothingBoots), both(untried())},
	{"client-certificate-expired", course{once: bears(), lasting: untried()}, both(untried()), both(untried())},
	{"time-not-in-sync", course{once: untried(), lasting: untried()}, never(nothingBootstraps), never(nothingBootstraps)},
	{"bootstrap-answer-lost", both(untried()), never(nothingBootstraps), never(nothingBootstraps)},
	{"etcd-learner-stuck", both(untried().with(threeControlPlanes)), never(noLearner), never(noLearner)},
	{"api-server-late", both(untried()), never(nothingBoots), both(untried())},
	{"talos-api-unavailable", both(untried()), both(untried()), both(untried())},
	{"guest-agent-silent", never(noAgentAsked), never(noAgentAsked), never(noAgentAsked)},
	{"factory-unavailable", both(refused("the host cannot bear it yet")), both(untried()), both(untried())},
}

// movesADisk has the worker's disk on the other one of two storages.
func movesADisk(r *rehearsal) {
	r.edit("nodes.yaml", "    vmid: 102\n", "    vmid: 102\n    diskStorage: other\n")
}

// withAGPU has a worker more, which has a GPU.
func withAGPU(r *rehearsal) {
	r.addNode(`{name: k3s-dev-gpu-1, vmid: 114, address: 192.168.20.24, role: gpu-worker, gpus: [{bdf: "0000:01:00.0", deviceId: "10de:2204", subsystemId: "1462:3881", iommuGroup: 14}]}`)
}

// threeControlPlanes has two more.
func threeControlPlanes(r *rehearsal) {
	r.addNode("{name: k3s-dev-control-2, role: control-plane, vmid: 103, address: 192.168.20.12}")
	r.addNode("{name: k3s-dev-control-3, role: control-plane, vmid: 104, address: 192.168.20.13}")
}
