package state

import "strings"

// nodeUpgrade is the command of em-infra that upgrades a node, as the program writes it into the update of a membership.
const nodeUpgrade = "node upgrade"

// kubernetesUpdate begins the update of the Command of the version of Kubernetes: a shell does nothing with it.
const kubernetesUpdate = "true kubernetes "

// UpgradeImage returns the installer image in the text of a Command that upgrades a node; empty for another text.
func UpgradeImage(update string) string { return flagsOf(update, nodeUpgrade)["--image"] }

// KubernetesUpdate returns the update of the Command of the version of Kubernetes.
func KubernetesUpdate(version string) string { return kubernetesUpdate + version }

// KubernetesOf returns the version in the update of a Command; empty for another text.
func KubernetesOf(update string) string {
	version, found := strings.CutPrefix(update, kubernetesUpdate)
	if !found {
		return ""
	}
	return version
}

// flagsOf returns the word after each word that follows a command of em-infra; nil if the text runs another command.
func flagsOf(text, command string) map[string]string {
	_, arguments, found := strings.Cut(text, " "+command+" ")
	if !found {
		return nil
	}
	flags := map[string]string{}
	words := strings.Fields(arguments)
	for i := range len(words) - 1 {
		flags[words[i]] = words[i+1]
	}
	return flags
}
