package explain

// upgrades contains the errors of an upgrade of Talos, and of the way back.
var upgrades = []row{
	{
		name: "installer-refuses-host", speaker: talos, source: "talos pkg/machinery/compatibility/talos_version.go, UpgradeableFrom",
		pattern: saying(`host version (?P<runs>\S+) is too (?P<way>old|new) to (?:up|down)grade to Talos (?P<wanted>\S+)`),
		meaning: "the node runs Talos {runs}, which is too {way} for the installer of {wanted}; the node boots what it had",
		do:      "`em-infra versions` shows the way from here; set talos.version to its next step, then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "installer-failed", speaker: talos, source: "talos internal/pkg/install/install.go",
		pattern: saying(`task "upgrade" failed: exit code (?P<code>\d+)`),
		meaning: "the installer of the new release ended with code {code}, and the node boots the release that it had; the cause is on its console and nowhere else",
		do:      "look at the console of the node's VM in Proxmox VE, and " + upAgain + " meanwhile, which tries once more",
		safe:    goesOn,
	},
	{
		name: "upgrade-locked", speaker: talos, source: "talos v1alpha1_server.go, tryLockUpgradeMutex; etcd client/v3/concurrency",
		pattern: saying(`error trying to lock etcd upgrade mutex|holds the lock talos:etcdUpgradeMutex`),
		meaning: "another control plane is just being checked for its upgrade, or that check was cut off; its lock in etcd ends after a minute",
		do:      "make sure that no other upgrade of a control plane is running, then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "node-rolled-back", speaker: program, source: "talos internal/app/machined/revert.go",
		pattern: saying(`(?P<node>\S+) was rolled back: it runs (?P<runs>v\S+)`),
		meaning: "{node} came back with {runs}: the new release did not install, or its first boot failed, and Talos returned to the slot before",
		do:      "look at the console of its VM in Proxmox VE, and " + upAgain + " meanwhile, which tries once more, or take the change of the release back",
		safe:    "yes: the node works as before, and no other one is touched",
	},
	{
		name: "upgrade-hangs", speaker: program, source: "siderolabs/talos#12964, siderolabs/talos#12791, siderolabs/talos#13934",
		pattern: saying(`(?P<node>\S+) hangs in its shutdown, (?P<after>.+?) after the order to upgrade`),
		meaning: "{node} has not rebooted {after} after it was told to: a mount does not end, often one of a storage in the cluster",
		do:      "power-cycle its VM in Proxmox VE (stop, then start): it boots the new release or the one before; then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "kubernetes-component-fails", speaker: program, source: "internal/nodeops/kubernetesupgrade",
		pattern: saying(`(?:the )?(?P<what>kube-\S+|kubelet) (?P<version>v\S+) (?:of \S+ )?does not work (?:on \S+ )?after`),
		meaning: "the {what} {version} does not run on that node: often an argument in a patch that this version does not know",
		do:      "look at its log with the command in the message, mend the cause, then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "kubernetes-removed", speaker: program, source: "https://kubernetes.io/docs/reference/using-api/deprecation-guide/",
		pattern: saying(`which (?P<minor>v\S+) (?:does not know|no longer serves)`),
		meaning: "Kubernetes {minor} has removed what this cluster uses: a component would not start, or an object could not be read",
		do:      "take the argument out of the patches and run up with the former version, or write the object in the version that the message names; then change kubernetes.version again",
		safe:    notTouched,
	},
	{
		name: "kubernetes-image", speaker: program, source: "talos v1alpha1_images.go",
		pattern: saying(`(?P<node>\S+) (?:cannot pull|has not pulled) (?P<image>\S+/(?:kube-\S+|kubelet):\S+) `),
		meaning: "{node} does not get {image}: the version does not exist, or the registry cannot be reached, or is too slow",
		do:      "see that kubernetes.version is a release of Kubernetes and that the node reaches the registry, then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "no-former-release", speaker: talos, source: "talos v1alpha1/bootloader/grub/revert.go, sdboot/sdboot.go",
		pattern: saying(`cannot rollback to "", label does not exist|previous UKI not found`),
		meaning: "there is no other release on the node's disk: it was not upgraded since Talos was installed",
		do:      "set talos.version to bring another release to it, then run `em-infra up`",
		safe:    notTouched,
	},
}
