package machineconfig

import (
	"regexp"
	"strings"
)

// These expressions define which values of a machine configuration, or of a patch of one, are not shown. Talos' own code redacts the secrets that its
// generator makes and those in some documents (config.SecretDocument), but neither the passphrases of encrypted volumes nor the keys of the main
// document's WireGuard, and it cannot know which values are its users' secrets.
var (
	// credential matches the names of values that are secret wherever they stand.
	credential = regexp.MustCompile(`(?i)(passphrase|password|passwd|secret|token|key|^auth)$`)
	// public matches the names among these whose values are not secret: a peer's public key, and a number in the protocol of bonds.
	public = regexp.MustCompile(`(?i)(publicKey|adUserPortKey)$`)
	// private matches the paths whose values may be secrets of users, regardless of their names: contents of files and manifests, environments, and
	// the credentials of registries.
	private = regexp.MustCompile(`^(machine\.(files|env|pods|registries|kubelet\.credentialProviderConfig)|` +
		`cluster\.(inlineManifests|extraManifestHeaders|(apiServer|controllerManager|scheduler)\.env)|ExtensionServiceConfig)\b`)
	// open matches paths whose values are not secret: what every user of the cluster sees of a Node, the names of hidden contents, keys of other
	// kinds, paths of key files, and the locations of registries.
	open = regexp.MustCompile(`^machine\.(nodeLabels|nodeTaints|nodeAnnotations)\.|[tT]aints\[\d+\]\.key$|\.topologyKey$|` +
		`\.extraArgs\.[a-z-]+-client-key(\[\d+\])?$|^machine\.registries\.mirrors\..+\.(endpoints\[\d+\]|overridePath|skipFallback)$|` +
		`^machine\.files\[\d+\]\.(path|permissions|op)$|^cluster\.inlineManifests\[\d+\]\.name$|` +
		`^ExtensionServiceConfig\b.*\.(apiVersion|kind|name|mountPath)$`)
	// within matches credentials in a URL: the password of its user, or a parameter, such as the signature of a URL that grants access by itself.
	within = regexp.MustCompile(`://[^/@\s]*:[^/@\s]+@|(?i)[?&]([^=&\s]*(token|signature|secret|password)|sig)=[^&\s]`)
	// index matches the place in a list at the end of a path.
	index = regexp.MustCompile(`\[\d+\]$`)
)

// IsSecret reports whether a value of a machine configuration is not shown. The path is one of those that [Values] returns.
func IsSecret(path, value string) bool {
	switch {
	case value == "":
		return false
	case within.MatchString(value):
		return true
	case open.MatchString(path):
		return false
	}
	name := index.ReplaceAllString(path, "")
	name = name[strings.LastIndex(name, ".")+1:]
	return credential.MatchString(name) && !public.MatchString(name) || private.MatchString(path)
}
