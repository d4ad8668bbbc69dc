package state

import "strings"

// The commands of em-infra that upgrade, as the program writes them into the updates of its Commands.
const (
	nodeUpgrade       = "node upgrade"
	kubernetesUpgrade = "cluster upgrade-kubernetes"
)

// UpgradeImage returns the installer image in the text of a Command that upgrades a node; empty for another text.
func UpgradeImage(update string) string { return flagsOf(update, nodeUpgrade)["--image"] }

// UpgradeKubernetes returns the version in the text of a Command that upgrades Kubernetes; empty for another text.
func UpgradeKubernetes(update string) string { return flagsOf(update, kubernetesUpgrade)["--to"] }

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
