package explain_test

import "maps"

// examples are the errors that each row is to know, by its name: those that the lab and the sources have, and those that people
// have posted in forums and issues, as they have posted them but for names and addresses. Where they come from stands with the row.
var examples = merged(fromSources, postedProxmox, postedStorages, postedTalos, postedEngine, postedKubernetes, postedPods, postedGPU)

func merged(parts ...map[string][]string) map[string][]string {
	all := map[string][]string{}
	for _, part := range parts {
		for name := range part {
			if _, twice := all[name]; twice {
				panic("two groups have examples of row " + name)
			}
		}
		maps.Copy(all, part)
	}
	return all
}
