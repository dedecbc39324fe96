module hermes.dev/hermes/hack/tools

go 1.26.0
