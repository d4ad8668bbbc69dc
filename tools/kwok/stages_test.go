package main

import (
	"slices"
	"testing"
)

func TestStagesOfPods(t *testing.T) {
	t.Parallel()
	stages, err := podStages()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, stage := range stages {
		names = append(names, stage.Name)
		if stage.Spec.ResourceRef.Kind != "Pod" {
			t.Errorf("%s is about a %s", stage.Name, stage.Spec.ResourceRef.Kind)
		}
	}
	if wanted := []string{"pod-ready", "pod-complete", "pod-delete", "pod-ready-again"}; !slices.Equal(names, wanted) {
		t.Errorf("stages %v, not %v", names, wanted)
	}
}

func TestWhatIsRequired(t *testing.T) {
	t.Parallel()
	for _, given := range [][2]string{{"", "a=b"}, {"file", ""}} {
		err := play(t.Context(), given[0], given[1])
		if err == nil || err.Error() != "--kubeconfig and --node-selector are required" {
			t.Errorf("%v: %v", given, err)
		}
	}
}
