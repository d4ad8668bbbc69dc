code=0
em-infra preview --stack "$STACK" --output markdown > plan.md || code=$?
[[.Show "plan.md"]]
if [ "$code" -ne 0 ] && [ "$code" -ne 2 ]; then exit "$code"; fi
fingerprint=$(sed -n 's/^`em-infra .* --plan \([0-9a-f]\{16\}\).*/\1/p' plan.md) # none if nothing would change
