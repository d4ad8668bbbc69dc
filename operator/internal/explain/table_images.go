package explain

// images contains the reasons why a node does not get the installer image of an upgrade.
var images = []row{
	{
		name: "upgrade-image-absent", speaker: program, source: "talos v1alpha1_images.go, ImagePull",
		pattern: saying(`(?P<node>\S+) is untouched, because the installer image does not exist`),
		meaning: "the Image Factory has no image of this version of Talos with these extensions, so {node} was not drained",
		do:      "set talos.version to a release that the Image Factory has, then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "upgrade-image-refused", speaker: program, source: "containerd core/remotes/errors; talos internal/pkg/containers/image/image.go",
		pattern: saying(`(?P<node>\S+) is untouched, because the registry refuses the installer image`),
		meaning: "the registry answers {node} that it does not give out this image: most often an extension that this version of Talos lacks, or credentials of a mirror",
		do:      "take the extension out of the inventory or choose another talos.version; `em-infra preflight` asks the Image Factory; then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "upgrade-image-slow", speaker: program, source: "talos internal/pkg/containers/image/image.go, Pull",
		pattern: saying(`(?P<node>\S+) is untouched, because it has not pulled the installer image after (?P<after>\d+ \w+)`),
		meaning: "{node} was given {after} to download the image of the new Talos while its pods still ran, and has not got it; the brackets have the last failure, if there was one",
		do:      "see that the node reaches the Image Factory, or give it a registry mirror in talos.patches, then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "upgrade-without-room", speaker: program, source: "talos v1alpha1_server.go, Mounts; talos internal/pkg/containers/image/image.go",
		pattern: saying(`(?P<node>\S+) is untouched, because (?:the installer image does not fit on its disk|its image cannot be pulled now \(its volume EPHEMERAL)`),
		meaning: "the volume EPHEMERAL of {node}, which holds images and pods, has no room for the image of the new Talos",
		do:      "delete what fills it, or give the machine a larger disk with diskGiB, then " + upAgain,
		safe:    notTouched,
	},
}
