# syntax=docker/dockerfile:1.7
# Two images: `docker build .` is for CPUs; `docker build --target gpu .` runs networks on NVIDIA GPUs.

FROM python:3.11.13-slim-bookworm AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PATH=/opt/sluice/bin:$PATH
RUN python -m venv /opt/sluice
WORKDIR /source
# The dependencies are a layer of their own: a change of the source does not fetch them again.
COPY pyproject.toml ./
ARG EXTRAS="kafka serve mqtt remote parquet"
RUN python -c "import sys, tomllib; project = tomllib.load(open('pyproject.toml', 'rb'))['project']; \
    print(*project['dependencies'], *sum(map(project['optional-dependencies'].get, sys.argv[1:]), []), sep='\n')" \
    $EXTRAS > requirements.txt && pip install -r requirements.txt
COPY LICENSE README.md ./
COPY cache_adapt cache_adapt
COPY learning learning
COPY operators operators
COPY pipelines pipelines
COPY serving serving
COPY sluice sluice
COPY specialization specialization
RUN pip install --no-deps .

FROM build AS build-gpu
# The two packages overwrite each other's files, so one has to go; the extras bring the libraries of CUDA 13 and cuDNN.
RUN pip uninstall --yes onnxruntime && pip install "onnxruntime-gpu[cuda,cudnn]>=1.31,<1.32" "nvidia-ml-py>=12"

FROM python:3.11.13-slim-bookworm AS base
# A volume that is mounted at /var/lib/sluice takes over whose it is.
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin sluice && install -d -o sluice -g sluice /var/lib/sluice
ENV PATH=/opt/sluice/bin:$PATH PYTHONUNBUFFERED=1
USER sluice
WORKDIR /home/sluice
ENTRYPOINT ["sluice"]
CMD ["--help"]
# For `sluice capture|worker … --alive /tmp/alive`; other commands are asked in their own way, or not at all.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["sluice", "health", "/tmp/alive"]

FROM base AS gpu
COPY --from=build-gpu /opt/sluice /opt/sluice
ENV LD_LIBRARY_PATH=/opt/sluice/lib/python3.11/site-packages/nvidia/cu13/lib:/opt/sluice/lib/python3.11/site-packages/nvidia/cudnn/lib

FROM base AS cpu
COPY --from=build /opt/sluice /opt/sluice
