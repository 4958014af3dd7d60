# One image for the service and the worker; the command says which. The embedding model is part of it.
FROM python:3.13-slim AS build
WORKDIR /src
COPY requirements/image.txt requirements/
RUN python -m venv /opt/kg && /opt/kg/bin/pip install --no-cache-dir --require-hashes -r requirements/image.txt
COPY . .
RUN /opt/kg/bin/pip install --no-cache-dir --no-deps --no-build-isolation .
RUN KG_CACHE=/opt/kg/cache /opt/kg/bin/kg admin fetch-model

FROM python:3.13-slim
RUN useradd --create-home --uid 10001 kg
COPY --from=build /opt/kg /opt/kg
USER kg
RUN mkdir -m 700 /home/kg/blobs
ENV PATH=/opt/kg/bin:$PATH KG_CACHE=/opt/kg/cache KG_HOME=/home/kg
EXPOSE 8420
CMD ["kg", "serve"]
