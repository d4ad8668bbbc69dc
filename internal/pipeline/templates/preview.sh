code=0
em-infra preview --stack "$STACK" --output markdown[[if .IsGitLab]] --gitlab-report plan.json[[end]] > plan.md || code=$?
em-infra ci comment --stack "$STACK" < plan.md
[[.Show "plan.md"]]
if [ "$code" -eq 2 ]; then code=0; fi # something would change
exit "$code"
