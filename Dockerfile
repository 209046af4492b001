# The image of the docker tier, for those who have a registry:
#
#     docker build -t evocore-runner:mine .
#
# and then DockerSandbox(image="evocore-runner:mine"). What else programs are to import, install in the second stage.
# Without a registry nothing of this is needed: `evocore sandbox build-image`, and every run that finds no image, makes
# one of the installation that it runs in.
ARG BASE=python:3.11-slim

FROM ${BASE} AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev
COPY . /source
RUN python3 -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /source

FROM ${BASE}
COPY --from=build /wheels /wheels
RUN python3 -m pip install --no-cache-dir numpy scipy numba python-flint mpmath \
    && python3 -m pip install --no-cache-dir --no-deps /wheels/*.whl \
    && rm -r /wheels
USER 65534:65534
WORKDIR /
ENTRYPOINT ["/usr/local/bin/python3", "-P", "-s", "-B", "-m", "evocore.sandbox.docker_runner"]
