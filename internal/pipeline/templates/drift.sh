code=0
em-infra drift --stack "$STACK" > drift.txt || code=$?
cat drift.txt
em-infra ci issue --stack "$STACK" --exit-code "$code" < drift.txt
