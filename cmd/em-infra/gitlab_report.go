package main

import (
	"encoding/json"
	"os"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/operator"
)

// gitlabReport is a report that GitLab shows in a merge request (GitLab, "artifacts:reports:terraform").
type gitlabReport struct {
	Create int `json:"create"`
	Update int `json:"update"`
	Delete int `json:"delete"`
}

// gitlabReportMode is the mode of the file of the report, which is not secret.
const gitlabReportMode = 0o644

// writeGitLabReport writes the numbers of a preview. A replacement is a creation and a deletion, as Terraform counts it.
func writeGitLabReport(path string, found *operator.Preview) error {
	replaced := found.Changes[apitype.OpReplace]
	text, err := json.Marshal(gitlabReport{
		Create: found.Changes[apitype.OpCreate] + replaced, Update: found.Changes[apitype.OpUpdate], Delete: found.Changes[apitype.OpDelete] + replaced,
	})
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), gitlabReportMode)
}
