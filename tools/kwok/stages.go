package main

import (
	_ "embed"
	"fmt"
	"strings"

	"sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/config"
)

// additions are the stages that KWOK's fast ones lack. The comment of each gives the reason.
//
//go:embed stages.yaml
var additions string

// podStages returns the stages of a Pod's life: KWOK's fast ones, and ours.
func podStages() ([]*internalversion.Stage, error) {
	texts := []string{fast.DefaultPodReady, fast.DefaultPodComplete, fast.DefaultPodDelete}
	texts = append(texts, strings.Split(additions, "\n---\n")...)
	var stages []*internalversion.Stage
	for _, text := range texts {
		stage, err := config.UnmarshalWithType[*internalversion.Stage](text)
		if err != nil {
			return nil, fmt.Errorf("read a stage of Pods: %w", err)
		}
		stages = append(stages, stage)
	}
	return stages, nil
}
